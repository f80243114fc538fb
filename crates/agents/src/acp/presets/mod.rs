//! The agents that are known by name, in one table.

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

/// Every agent that is known by name. Others need a `command`, and no code.
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

/// What a provider of ours is called where it needs a name.
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

/// An agent that is known only by its command.
pub(super) const GENERIC: Preset = Preset {
    name: "acp",
    programs: &[],
    args: &[],
    install: "install it, or correct `command`",
    probe: VersionProbe::Protocol,
    home: AcpStatePaths {
        variable: "HOME",
        folders: &[],
        files: &[],
    },
    keys: &[],
    endpoint: false,
    capabilities: Capabilities {
        usage: false,
        ..COMMON_CAPABILITIES
    },
    launch_config: |_, _| {},
    words: &[],
    meta: None,
    shims: Quirks::NONE,
};
