//! pi, through `pi-acp`.

use crate::program::{AgentProgram, CommandLine, Endpoint, StatePaths, VersionProbe};

/// pi. Its endpoint and model are files, which its preset writes.
pub(crate) const PROGRAM: AgentProgram = AgentProgram {
    name: "pi-acp",
    programs: &["pi-acp"],
    install: "install it with `npm install -g pi-acp @earendil-works/pi-coding-agent` (Node 22 or later)",
    login: Some("run `pi` and then `/login`"),
    probe: VersionProbe::Protocol,
    state: StatePaths {
        variable: "HOME",
        dirs: &[".pi"],
        files: &[],
        sessions: None,
    },
    credentials: &["agent/auth.json"],
    instructions: &[],
    hosts: &[
        "api.anthropic.com",
        "api.openai.com",
        "generativelanguage.googleapis.com",
        "openrouter.ai",
    ],
    keys: &["OPENAI_API_KEY", "ANTHROPIC_API_KEY"],
    provider: None,
    login_provider: None,
    env: &[("PI_OFFLINE", "1"), ("PI_SKIP_VERSION_CHECK", "1")],
    endpoint: Some(endpoint),
};

fn endpoint(_: &Endpoint<'_>, _: &mut CommandLine) {}
