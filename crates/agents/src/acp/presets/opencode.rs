//! opencode.

use serde_json::{Value, json};
use windlass_core::Capabilities;

use super::{COMMON_CAPABILITIES, PROVIDER_NAME};
use crate::acp::preset::{
    AcpStatePaths, LaunchConfig, LaunchContext, Preset, Quirks, UsageSource, VersionProbe,
};

pub(super) const PRESET: Preset = Preset {
    name: "opencode",
    programs: &["opencode"],
    args: &["acp"],
    install: "install it with `npm install -g opencode-ai`, then run `opencode auth login`",
    probe: VersionProbe::Flag,
    home: AcpStatePaths {
        variable: "HOME",
        folders: &[
            ".local/share/opencode",
            ".local/state/opencode",
            ".config/opencode",
            ".cache/opencode",
        ],
        files: &[],
    },
    keys: &["OPENAI_API_KEY", "ANTHROPIC_API_KEY"],
    endpoint: true,
    capabilities: Capabilities {
        cost: true,
        ..COMMON_CAPABILITIES
    },
    launch_config,
    words: &[],
    meta: None,
    shims: Quirks {
        model_is_launch_arg: true,
        usage: UsageSource::LastStep,
        session_lost_phrases: &["OpenCode service failure"],
        ..Quirks::NONE
    },
};

fn launch_config(wish: &LaunchContext<'_>, outfit: &mut LaunchConfig) {
    // A project's words are read; its settings are not, for they may start programs.
    let words = wish.cwd.join("AGENTS.md");
    let mut config = json!({ "autoupdate": false, "share": "disabled", "instructions": [words] });
    if wish.asks_permission {
        config["permission"] =
            json!({ "edit": "ask", "bash": "ask", "webfetch": "ask", "external_directory": "ask" });
    }
    if let Some(endpoint) = wish.endpoint {
        let model = wish.model.unwrap_or("default");
        let model = model.strip_prefix("windlass/").unwrap_or(model);
        let mut options = json!({ "baseURL": endpoint.url_with_version() });
        // The key stays in the environment.
        options["apiKey"] = match endpoint.has_key {
            true => "{env:OPENAI_API_KEY}".into(),
            false => "none".into(),
        };
        config["provider"] = json!({ PROVIDER_NAME: {
            "npm": "@ai-sdk/openai-compatible",
            "options": options,
            "models": { model: { "limit": { "context": 128_000, "output": 16_000 } } },
        } });
        let name = Value::from(format!("{PROVIDER_NAME}/{model}"));
        config["model"] = name.clone();
        config["small_model"] = name;
        config["enabled_providers"] = json!([PROVIDER_NAME]);
    } else if let Some(model) = wish.model {
        config["model"] = model.into();
    }
    let command = &mut outfit.command;
    command.env("OPENCODE_CONFIG_CONTENT", config.to_string());
    command.env("OPENCODE_DISABLE_AUTOUPDATE", "1");
    command.env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1");
    command.env("OPENCODE_DISABLE_PROJECT_CONFIG", "1");
    if wish.endpoint.is_some() {
        // Neither the list of all models nor plugins are needed, and both are looked for on the network.
        command.env("OPENCODE_DISABLE_MODELS_FETCH", "1");
        command.env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1");
    }
}
