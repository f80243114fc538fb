//! Codex through `codex-acp`.

use serde_json::json;

use super::{COMMON_CAPABILITIES, PROVIDER_NAME};
use crate::acp::preset::{
    AcpStatePaths, LaunchConfig, LaunchContext, Preset, Quirks, VersionProbe,
};

pub(super) const PRESET: Preset = Preset {
    name: "codex-acp",
    programs: &["codex-acp"],
    args: &[],
    install: "install it with `npm install -g @agentclientprotocol/codex-acp` (Node 22 or later), then run `codex login`",
    probe: VersionProbe::Flag,
    home: AcpStatePaths {
        variable: "CODEX_HOME",
        folders: &[".codex"],
        files: &[],
    },
    keys: &["OPENAI_API_KEY", "CODEX_API_KEY"],
    endpoint: true,
    capabilities: COMMON_CAPABILITIES,
    launch_config,
    words: &[],
    meta: None,
    shims: Quirks {
        // Our walls hold it; its own could not start inside them everywhere.
        auto_mode: Some("agent-full-access"),
        ask_mode: Some("read-only"),
        model_is_launch_arg: true,
        errors_lack_message_id: true,
        tools_survive_cancel: true,
        ..Quirks::NONE
    },
};

fn launch_config(wish: &LaunchContext<'_>, outfit: &mut LaunchConfig) {
    let mut config = json!({
        "shell_environment_policy": { "ignore_default_excludes": false },
        // Else Codex would obey what a repository says in `.codex`.
        "projects": { wish.cwd.display().to_string(): { "trust_level": "untrusted" } },
    });
    if let Some(model) = wish.model {
        config["model"] = model.into();
    }
    if let Some(endpoint) = wish.endpoint {
        let mut provider = json!({
            "name": PROVIDER_NAME,
            "base_url": endpoint.url_with_version(),
            "wire_api": "responses",
            "request_max_retries": 2,
            "stream_max_retries": 2,
        });
        if endpoint.has_key {
            provider["env_key"] = "OPENAI_API_KEY".into();
        }
        config["model_provider"] = PROVIDER_NAME.into();
        config["model_providers"] = json!({ PROVIDER_NAME: provider });
        outfit.command.env("MODEL_PROVIDER", PROVIDER_NAME);
    }
    outfit.command.env("CODEX_CONFIG", config.to_string());
    outfit.command.env("NO_BROWSER", "1");
    let mode = if wish.asks_permission {
        "read-only"
    } else {
        "agent-full-access"
    };
    outfit.command.env("INITIAL_AGENT_MODE", mode);
}
