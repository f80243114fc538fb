//! fast-agent.

use crate::program::{AgentProgram, CommandLine, Endpoint, EndpointAuth, StatePaths, VersionProbe};

const KEY: &str = "GENERIC_API_KEY";

/// fast-agent.
pub(crate) const PROGRAM: AgentProgram = AgentProgram {
    name: "fast-agent",
    programs: &["fast-agent-acp"],
    install: "install it with `pipx install fast-agent-mcp` (Python 3.13 or later)",
    login: Some("set the key of your provider, such as OPENAI_API_KEY"),
    probe: VersionProbe::Protocol,
    state: StatePaths {
        variable: "FAST_AGENT_HOME",
        dirs: &[".fast-agent"],
        files: &[],
        sessions: None,
    },
    credentials: &[],
    instructions: &[],
    hosts: &[
        "api.anthropic.com",
        "api.openai.com",
        "generativelanguage.googleapis.com",
        "openrouter.ai",
    ],
    keys: &[KEY, "OPENAI_API_KEY", "ANTHROPIC_API_KEY"],
    provider: None,
    login_provider: None,
    env: &[],
    endpoint: Some(endpoint),
};

fn endpoint(endpoint: &Endpoint<'_>, command: &mut CommandLine) {
    command.env("GENERIC_BASE_URL", endpoint.url_with_version());
    if endpoint.auth == EndpointAuth::None {
        command.env(KEY, "none");
    }
}
