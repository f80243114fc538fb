//! The known agent programs. Each is described once; the profiles and presets refer to these records.

pub(crate) mod auggie;
pub(crate) mod claude;
pub(crate) mod cline;
pub(crate) mod codex;
pub(crate) mod copilot;
pub(crate) mod cursor;
pub(crate) mod fast_agent;
pub(crate) mod gemini;
pub(crate) mod goose;
pub(crate) mod kimi;
pub(crate) mod opencode;
pub(crate) mod openhands;
pub(crate) mod pi;
pub(crate) mod qwen;
pub(crate) mod vibe;

use super::agent_program::{AgentProgram, StatePaths, VersionProbe};

/// The name of the model provider that represents a configured endpoint in an agent's settings.
pub(crate) const PROVIDER_NAME: &str = "windlass";

/// All known programs. Programs that share their state with one of these are not listed.
pub(super) const ALL: &[&AgentProgram] = &[
    &auggie::PROGRAM,
    &claude::PROGRAM,
    &cline::PROGRAM,
    &codex::PROGRAM,
    &copilot::PROGRAM,
    &cursor::PROGRAM,
    &fast_agent::PROGRAM,
    &gemini::PROGRAM,
    &goose::PROGRAM,
    &kimi::PROGRAM,
    &opencode::PROGRAM,
    &openhands::PROGRAM,
    &pi::PROGRAM,
    &qwen::PROGRAM,
    &vibe::PROGRAM,
];

/// A program that is known only by its command.
pub(crate) const UNKNOWN: AgentProgram = AgentProgram {
    name: "acp",
    programs: &[],
    install: "install it, or correct `command`",
    login: None,
    probe: VersionProbe::Protocol,
    state: StatePaths {
        variable: "HOME",
        dirs: &[],
        files: &[],
        sessions: None,
    },
    credentials: &[],
    instructions: &[],
    hosts: &[],
    keys: &[],
    provider: None,
    login_provider: None,
    env: &[],
    endpoint: None,
};
