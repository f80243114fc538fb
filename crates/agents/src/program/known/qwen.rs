//! Qwen Code.

use crate::program::{AgentProgram, CommandLine, Endpoint, EndpointAuth, StatePaths, VersionProbe};

const KEY: &str = "OPENAI_API_KEY";

/// Qwen Code.
pub(crate) const PROGRAM: AgentProgram = AgentProgram {
    name: "qwen",
    programs: &["qwen"],
    install: "install it with `npm install -g @qwen-code/qwen-code` (Node 22 or later)",
    login: Some("run `qwen` once to log in"),
    probe: VersionProbe::Flag,
    state: StatePaths {
        variable: "HOME",
        dirs: &[".qwen"],
        files: &[],
        sessions: None,
    },
    credentials: &["oauth_creds.json"],
    // Qwen reads them on its own.
    instructions: &[],
    hosts: &[
        "chat.qwen.ai",
        "dashscope-intl.aliyuncs.com",
        "dashscope.aliyuncs.com",
        "portal.qwen.ai",
    ],
    keys: &[KEY],
    provider: None,
    login_provider: None,
    env: &[],
    endpoint: Some(endpoint),
};

fn endpoint(endpoint: &Endpoint<'_>, command: &mut CommandLine) {
    command.option("auth-type", "openai");
    command.env("OPENAI_BASE_URL", endpoint.url_with_version());
    if endpoint.auth == EndpointAuth::None {
        // Qwen does not start without a key.
        command.env(KEY, "none");
    }
}
