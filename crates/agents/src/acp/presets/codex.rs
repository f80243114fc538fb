//! Codex through `codex-acp`.

use serde_json::json;

use super::{COMMON, OURS};
use crate::acp::preset::{Home, Outfit, Preset, Probe, Shims, Wish};

pub(super) const PRESET: Preset = Preset {
    name: "codex-acp",
    programs: &["codex-acp"],
    args: &[],
    install: "install it with `npm install -g @agentclientprotocol/codex-acp` (Node 22 or later), then run `codex login`",
    probe: Probe::Flag,
    home: Home {
        variable: "CODEX_HOME",
        folders: &[".codex"],
        files: &[],
    },
    keys: &["OPENAI_API_KEY", "CODEX_API_KEY"],
    endpoint: true,
    capabilities: COMMON,
    dress,
    words: &[],
    meta: None,
    shims: Shims {
        // Our walls hold it; its own could not start inside them everywhere.
        free_mode: Some("agent-full-access"),
        asking_mode: Some("read-only"),
        model_at_start: true,
        nameless_complaints: true,
        leaves_tools: true,
        ..Shims::NONE
    },
};

fn dress(wish: &Wish<'_>, outfit: &mut Outfit) {
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
            "name": OURS,
            "base_url": endpoint.versioned(),
            "wire_api": "responses",
            "request_max_retries": 2,
            "stream_max_retries": 2,
        });
        if endpoint.has_key {
            provider["env_key"] = "OPENAI_API_KEY".into();
        }
        config["model_provider"] = OURS.into();
        config["model_providers"] = json!({ OURS: provider });
        outfit.command.env("MODEL_PROVIDER", OURS);
    }
    outfit.command.env("CODEX_CONFIG", config.to_string());
    outfit.command.env("NO_BROWSER", "1");
    let mode = if wish.asks {
        "read-only"
    } else {
        "agent-full-access"
    };
    outfit.command.env("INITIAL_AGENT_MODE", mode);
}
