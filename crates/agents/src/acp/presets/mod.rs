//! The table of built-in presets.

mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod goose;
mod opencode;
mod qwen;

use windlass_core::Capabilities;

use super::preset::{Preset, Quirks};
use crate::program::known;

/// The built-in presets. Other agents need a `command`, and no code.
pub const PRESETS: &[&Preset] = &[
    &claude::PRESET,
    &codex::PRESET,
    &gemini::PRESET,
    &opencode::PRESET,
    &qwen::PRESET,
    &copilot::PRESET,
    &goose::PRESET,
    &cursor::PRESET,
];

const COMMON_CAPABILITIES: Capabilities = Capabilities {
    streaming: true,
    load_session: true,
    tools: true,
    permissions: true,
    native_schema: false,
    mcp: true,
    model_choice: true,
    usage: true,
    cost: false,
};

/// The preset of an agent that is configured by its command.
pub(super) const GENERIC: Preset = Preset {
    program: &known::UNKNOWN,
    args: &[],
    capabilities: Capabilities {
        usage: false,
        ..COMMON_CAPABILITIES
    },
    launch_config: |_, _| {},
    meta: None,
    quirks: Quirks::NONE,
};
