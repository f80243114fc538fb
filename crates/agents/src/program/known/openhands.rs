//! OpenHands.

use crate::program::{AgentProgram, CommandLine, Endpoint, EndpointAuth, StatePaths, VersionProbe};

const KEY: &str = "LLM_API_KEY";

/// OpenHands.
pub(crate) const PROGRAM: AgentProgram = AgentProgram {
    name: "openhands",
    programs: &["openhands"],
    install: "install it with `pipx install --python python3.12 openhands`",
    login: Some("run `openhands` once to set the model and its key"),
    probe: VersionProbe::Protocol,
    state: StatePaths {
        variable: "HOME",
        dirs: &[".openhands"],
        files: &[],
        sessions: None,
    },
    credentials: &["agent_settings.json"],
    instructions: &[],
    hosts: &[
        "api.anthropic.com",
        "api.openai.com",
        "generativelanguage.googleapis.com",
        "openrouter.ai",
    ],
    keys: &[KEY],
    provider: None,
    login_provider: None,
    env: &[
        ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
        ("OPENHANDS_SUPPRESS_BANNER", "1"),
    ],
    endpoint: Some(endpoint),
};

fn endpoint(endpoint: &Endpoint<'_>, command: &mut CommandLine) {
    command.env("LLM_BASE_URL", endpoint.url_with_version());
    if endpoint.auth == EndpointAuth::None {
        command.env(KEY, "none");
    }
}
