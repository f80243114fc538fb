//! The table of built-in presets.

mod auggie;
mod claude;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod fast_agent;
mod gemini;
mod goose;
mod kimi;
mod opencode;
mod openhands;
mod pi;
mod qwen;
mod vibe;

use windlass_core::Capabilities;

use super::preset::{LaunchConfig, LaunchContext, Preset, Quirks};
use crate::program::{AgentProgram, known};

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
    &kimi::PRESET,
    &pi::PRESET,
    &vibe::PRESET,
    &fast_agent::PRESET,
    &openhands::PRESET,
    &auggie::PRESET,
    &cline::PRESET,
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

/// Returns the preset of an agent with the common capabilities. Its model is chosen at launch.
const fn with_model_at_launch(
    program: &'static AgentProgram,
    args: &'static [&'static str],
    launch_config: fn(&LaunchContext<'_>, &mut LaunchConfig),
) -> Preset {
    Preset {
        program,
        args,
        capabilities: COMMON_CAPABILITIES,
        launch_config,
        meta: None,
        quirks: Quirks {
            model_is_launch_arg: true,
            ..Quirks::NONE
        },
    }
}

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
