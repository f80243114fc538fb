//! Codex, and `codex-acp`, which speaks ACP for it.

use serde_json::Value;

use super::PROVIDER_NAME;
use crate::program::{AgentProgram, CommandLine, Endpoint, EndpointAuth, StatePaths, VersionProbe};

/// The variable that Codex reads its key from.
pub(crate) const KEY: &str = "OPENAI_API_KEY";

/// Its models, and the renewal of its login.
const HOSTS: &[&str] = &["api.openai.com", "auth.openai.com", "chatgpt.com"];

/// Codex.
pub(crate) const PROGRAM: AgentProgram = AgentProgram {
    name: "codex",
    programs: &["codex"],
    install: "install it with `npm install -g @openai/codex`",
    login: Some("run `codex login`"),
    probe: VersionProbe::Flag,
    state: StatePaths {
        variable: "CODEX_HOME",
        dirs: &[".codex"],
        files: &[],
        sessions: Some("sessions"),
    },
    credentials: &["auth.json"],
    instructions: &["AGENTS.md"],
    hosts: HOSTS,
    keys: &[KEY, "CODEX_API_KEY"],
    provider: Some("https://api.openai.com/v1"),
    login_provider: Some("https://chatgpt.com/backend-api/codex"),
    env: &[],
    endpoint: Some(endpoint),
};

/// The program that speaks ACP for Codex. Its settings are one variable, which its preset writes.
pub(crate) const ACP_PROGRAM: AgentProgram = AgentProgram {
    name: "codex-acp",
    programs: &["codex-acp"],
    install: "install it with `npm install -g @agentclientprotocol/codex-acp` (Node 22 or later)",
    probe: VersionProbe::FlagWithState,
    instructions: &[],
    env: &[("NO_BROWSER", "1")],
    endpoint: Some(|_, command| _ = command.env("MODEL_PROVIDER", PROVIDER_NAME)),
    ..PROGRAM
};

fn endpoint(endpoint: &Endpoint<'_>, command: &mut CommandLine) {
    let auth = match endpoint.auth {
        EndpointAuth::Key => format!(",env_key={}", toml_string(KEY)),
        EndpointAuth::OwnLogin => ",requires_openai_auth=true".to_owned(),
        EndpointAuth::None => String::new(),
    };
    let provider = format!(
        "{{name={},base_url={},wire_api=\"responses\"{auth}}}",
        toml_string(PROVIDER_NAME),
        toml_string(&base_url(endpoint)),
    );
    push_config(command, "model_provider", &toml_string(PROVIDER_NAME));
    push_config(
        command,
        &format!("model_providers.{PROVIDER_NAME}"),
        &provider,
    );
}

/// Returns the URL in front of `/responses`. The one of a login has no version.
pub(crate) fn base_url(endpoint: &Endpoint<'_>) -> String {
    match endpoint.auth {
        EndpointAuth::OwnLogin => endpoint.url.to_owned(),
        EndpointAuth::Key | EndpointAuth::None => endpoint.url_with_version(),
    }
}

/// Adds `-c key=value` in front, where every subcommand accepts it.
pub(crate) fn push_config(command: &mut CommandLine, key: &str, value: &str) {
    command
        .args
        .splice(..0, ["-c".to_owned(), format!("{key}={value}")]);
}

/// Returns a TOML string. A JSON string is a valid one.
pub(crate) fn toml_string(value: &str) -> String {
    Value::from(value).to_string()
}
