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

use super::preset::{AcpStatePaths, Preset, Quirks, VersionProbe};

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

/// The name of the model provider that represents a configured endpoint in an agent's settings.
const PROVIDER_NAME: &str = "windlass";

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
    name: "acp",
    programs: &[],
    args: &[],
    install: "install it, or correct `command`",
    probe: VersionProbe::Protocol,
    home: AcpStatePaths {
        variable: "HOME",
        dirs: &[],
        files: &[],
    },
    keys: &[],
    endpoint: false,
    capabilities: Capabilities {
        usage: false,
        ..COMMON_CAPABILITIES
    },
    launch_config: |_, _| {},
    instructions: &[],
    meta: None,
    quirks: Quirks::NONE,
};
