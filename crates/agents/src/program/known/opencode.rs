//! opencode.

use crate::program::{AgentProgram, CommandLine, Endpoint, StatePaths, VersionProbe};

/// opencode. Its endpoint and model are one variable, which its preset writes.
pub(crate) const PROGRAM: AgentProgram = AgentProgram {
    name: "opencode",
    programs: &["opencode"],
    install: "install it with `npm install -g opencode-ai`",
    login: Some("run `opencode auth login`"),
    probe: VersionProbe::FlagWithState,
    state: StatePaths {
        variable: "HOME",
        dirs: &[
            ".local/share/opencode",
            ".local/state/opencode",
            ".config/opencode",
            ".cache/opencode",
        ],
        files: &[],
        sessions: None,
    },
    credentials: &["auth.json"],
    instructions: &[],
    hosts: &[
        "api.anthropic.com",
        "api.openai.com",
        "generativelanguage.googleapis.com",
        "models.dev",
        "opencode.ai",
        "openrouter.ai",
    ],
    keys: &["OPENAI_API_KEY", "ANTHROPIC_API_KEY"],
    provider: None,
    login_provider: None,
    env: &[
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_DISABLE_PROJECT_CONFIG", "1"),
    ],
    endpoint: Some(endpoint),
};

/// Neither the list of all models nor plugins are needed, and both would be fetched from the network.
fn endpoint(_: &Endpoint<'_>, command: &mut CommandLine) {
    command.env("OPENCODE_DISABLE_MODELS_FETCH", "1");
    command.env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1");
}
