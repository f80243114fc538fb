//! Cursor's agent.

use crate::program::{AgentProgram, DefaultModel, StatePaths, VersionProbe};

/// Its models, and the renewal of its login.
const HOSTS: &[&str] = &[
    "*.cursor.sh",
    "api2.cursor.sh",
    "api3.cursor.sh",
    "api4.cursor.sh",
    "authenticator.cursor.sh",
];

/// The model if none is set.
pub(crate) const MODEL: DefaultModel = DefaultModel {
    variable: "WORKER_CURSOR_MODEL",
    name: "gpt-5.1-codex-max-high",
};

/// Cursor's agent.
pub(crate) const PROGRAM: AgentProgram = AgentProgram {
    name: "cursor",
    programs: &["cursor-agent", "agent"],
    install: "see cursor.com/cli for how to install it",
    login: Some("run `cursor-agent login`"),
    probe: VersionProbe::Flag,
    state: StatePaths {
        variable: "CURSOR_CONFIG_DIR",
        dirs: &[".cursor"],
        files: &[],
        sessions: None,
    },
    credentials: &["../.config/cursor/auth.json", "auth.json"],
    // Cursor reads them on its own.
    instructions: &[],
    hosts: HOSTS,
    keys: &["CURSOR_API_KEY"],
    provider: None,
    login_provider: None,
    env: &[],
    endpoint: None,
};

/// Cursor's agent as a model without tools.
pub(crate) const COMPOSER: AgentProgram = AgentProgram {
    name: "composer-cli",
    programs: &["agent", "cursor-agent"],
    ..PROGRAM
};
