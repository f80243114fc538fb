//! GitHub's Copilot CLI.

use crate::program::{AgentProgram, CommandLine, Endpoint, EndpointAuth, StatePaths, VersionProbe};

const KEY: &str = "COPILOT_PROVIDER_API_KEY";

/// Copilot CLI.
pub(crate) const PROGRAM: AgentProgram = AgentProgram {
    name: "copilot",
    programs: &["copilot"],
    install: "install it with `npm install -g @github/copilot`",
    login: Some("run `copilot` once to log in"),
    probe: VersionProbe::FlagWithState,
    state: StatePaths {
        variable: "HOME",
        // It unpacks itself into the second directory.
        dirs: &[".copilot", ".cache/copilot"],
        files: &[],
        sessions: None,
    },
    credentials: &["config.json#logged_in_users"],
    instructions: &[],
    hosts: &[
        "*.githubcopilot.com",
        "api.business.githubcopilot.com",
        "api.enterprise.githubcopilot.com",
        "api.github.com",
        "api.githubcopilot.com",
        "api.individual.githubcopilot.com",
    ],
    keys: &[KEY, "COPILOT_GITHUB_TOKEN", "GH_TOKEN"],
    provider: None,
    login_provider: None,
    env: &[],
    endpoint: Some(endpoint),
};

fn endpoint(endpoint: &Endpoint<'_>, command: &mut CommandLine) {
    command.env("COPILOT_PROVIDER_BASE_URL", endpoint.url_with_version());
    command.env("COPILOT_PROVIDER_TYPE", "openai");
    command.env("COPILOT_PROVIDER_WIRE_API", "completions");
    command.env("COPILOT_OFFLINE", "true");
    if endpoint.auth == EndpointAuth::None {
        command.env(KEY, "none");
    }
}
