//! Gemini CLI.

use crate::program::{AgentProgram, CommandLine, Endpoint, EndpointAuth, StatePaths, VersionProbe};

const KEY: &str = "GEMINI_API_KEY";

/// Gemini CLI.
pub(crate) const PROGRAM: AgentProgram = AgentProgram {
    name: "gemini",
    programs: &["gemini"],
    install: "install it with `npm install -g @google/gemini-cli`",
    login: Some("run `gemini` once to log in"),
    probe: VersionProbe::FlagWithState,
    state: StatePaths {
        variable: "HOME",
        dirs: &[".gemini"],
        files: &[],
        sessions: None,
    },
    credentials: &["oauth_creds.json"],
    instructions: &[],
    hosts: &[
        "accounts.google.com",
        "aiplatform.googleapis.com",
        "cloudcode-pa.googleapis.com",
        "generativelanguage.googleapis.com",
        "oauth2.googleapis.com",
        "www.googleapis.com",
    ],
    keys: &[KEY, "GOOGLE_API_KEY"],
    provider: Some("https://generativelanguage.googleapis.com"),
    login_provider: None,
    // Otherwise it relaunches itself, and waits for a person in a directory that it does not trust yet.
    env: &[
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
        ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
    ],
    endpoint: Some(endpoint),
};

fn endpoint(endpoint: &Endpoint<'_>, command: &mut CommandLine) {
    command.env("GOOGLE_GEMINI_BASE_URL", endpoint.url_without_version());
    if endpoint.auth == EndpointAuth::None {
        command.env(KEY, "none");
    }
}
