//! Goose. Written from its documentation; not tested.

use crate::program::{AgentProgram, CommandLine, Endpoint, EndpointAuth, StatePaths, VersionProbe};

const KEY: &str = "OPENAI_API_KEY";

/// Goose.
pub(crate) const PROGRAM: AgentProgram = AgentProgram {
    name: "goose",
    programs: &["goose"],
    install: "see block.github.io/goose for how to install it",
    login: Some("run `goose configure`"),
    probe: VersionProbe::FlagWithState,
    state: StatePaths {
        variable: "HOME",
        dirs: &[".config/goose", ".local/share/goose", ".local/state/goose"],
        files: &[],
        sessions: None,
    },
    credentials: &["config.yaml"],
    instructions: &[],
    hosts: &[
        "api.anthropic.com",
        "api.openai.com",
        "generativelanguage.googleapis.com",
        "openrouter.ai",
    ],
    keys: &[KEY, "ANTHROPIC_API_KEY"],
    provider: None,
    login_provider: None,
    env: &[],
    endpoint: Some(endpoint),
};

fn endpoint(endpoint: &Endpoint<'_>, command: &mut CommandLine) {
    command.env("GOOSE_PROVIDER", "openai");
    command.env("OPENAI_HOST", endpoint.url_without_version());
    command.env("GOOSE_DISABLE_KEYRING", "1");
    if endpoint.auth == EndpointAuth::None {
        command.env(KEY, "none");
    }
}
