//! Mistral Vibe.

use crate::program::{AgentProgram, CommandLine, Endpoint, EndpointAuth, StatePaths, VersionProbe};

/// Mistral Vibe. Its endpoint and model are a file, which its preset writes.
pub(crate) const PROGRAM: AgentProgram = AgentProgram {
    name: "vibe",
    programs: &["vibe-acp"],
    install: "install it with `pipx install mistral-vibe` (Python 3.12 or later)",
    login: Some("run `vibe --setup`"),
    probe: VersionProbe::Protocol,
    state: StatePaths {
        variable: "VIBE_HOME",
        dirs: &[".vibe"],
        files: &[],
        sessions: None,
    },
    credentials: &[".env"],
    instructions: &[],
    hosts: &["api.mistral.ai", "console.mistral.ai"],
    keys: &["MISTRAL_API_KEY"],
    provider: None,
    login_provider: None,
    env: &[],
    endpoint: Some(endpoint),
};

fn endpoint(endpoint: &Endpoint<'_>, command: &mut CommandLine) {
    if endpoint.auth == EndpointAuth::None {
        command.env("MISTRAL_API_KEY", "none");
    }
}
