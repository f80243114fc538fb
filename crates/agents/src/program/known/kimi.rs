//! Kimi Code.

use crate::program::{AgentProgram, CommandLine, Endpoint, EndpointAuth, StatePaths, VersionProbe};

const KEY: &str = "KIMI_MODEL_API_KEY";

/// Kimi Code.
pub(crate) const PROGRAM: AgentProgram = AgentProgram {
    name: "kimi",
    programs: &["kimi"],
    install: "install it with `npm install -g @moonshot-ai/kimi-code` (Node 22 or later)",
    login: Some("run `kimi login`"),
    probe: VersionProbe::FlagWithState,
    state: StatePaths {
        variable: "KIMI_CODE_HOME",
        dirs: &[".kimi-code"],
        files: &[],
        sessions: None,
    },
    credentials: &["credentials"],
    instructions: &[],
    hosts: &[
        "api.kimi.com",
        "api.moonshot.ai",
        "api.moonshot.cn",
        "auth.kimi.com",
    ],
    keys: &[KEY, "KIMI_API_KEY"],
    provider: None,
    login_provider: None,
    env: &[("KIMI_CODE_NO_AUTO_UPDATE", "1")],
    endpoint: Some(endpoint),
};

fn endpoint(endpoint: &Endpoint<'_>, command: &mut CommandLine) {
    command.env("KIMI_MODEL_PROVIDER_TYPE", "openai");
    command.env("KIMI_MODEL_BASE_URL", endpoint.url_with_version());
    if endpoint.auth == EndpointAuth::None {
        // Kimi does not use the other variables without a key.
        command.env(KEY, "none");
    }
}
