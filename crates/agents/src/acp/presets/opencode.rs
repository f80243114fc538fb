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
        dirs: &[
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
    instructions: &[],
    meta: None,
    quirks: Quirks {
        model_is_launch_arg: true,
        usage: UsageSource::LastStep,
        session_lost_phrases: &["OpenCode service failure"],
        ..Quirks::NONE
    },
};

fn launch_config(context: &LaunchContext<'_>, config: &mut LaunchConfig) {
    // A project's instructions are read; its settings are not, because they may start programs.
    let instructions = context.cwd.join("AGENTS.md");
    let mut settings =
        json!({ "autoupdate": false, "share": "disabled", "instructions": [instructions] });
    if context.asks_permission {
        settings["permission"] =
            json!({ "edit": "ask", "bash": "ask", "webfetch": "ask", "external_directory": "ask" });
    }
    if let Some(endpoint) = context.endpoint {
        let model = context.model.unwrap_or("default");
        let model = model.strip_prefix("windlass/").unwrap_or(model);
        let mut options = json!({ "baseURL": endpoint.url_with_version() });
        // The key stays in the environment.
        let key = if endpoint.has_key {
            "{env:OPENAI_API_KEY}"
        } else {
            "none"
        };
        options["apiKey"] = key.into();
        settings["provider"] = json!({ PROVIDER_NAME: {
            "npm": "@ai-sdk/openai-compatible",
            "options": options,
            "models": { model: { "limit": { "context": 128_000, "output": 16_000 } } },
        } });
        let name = Value::from(format!("{PROVIDER_NAME}/{model}"));
        settings["model"] = name.clone();
        settings["small_model"] = name;
        settings["enabled_providers"] = json!([PROVIDER_NAME]);
    } else if let Some(model) = context.model {
        settings["model"] = model.into();
    }
    let command = &mut config.command;
    command.env("OPENCODE_CONFIG_CONTENT", settings.to_string());
    command.env("OPENCODE_DISABLE_AUTOUPDATE", "1");
    command.env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1");
    command.env("OPENCODE_DISABLE_PROJECT_CONFIG", "1");
    if context.endpoint.is_some() {
        // Neither the list of all models nor plugins are needed, and both would be fetched from the network.
        command.env("OPENCODE_DISABLE_MODELS_FETCH", "1");
        command.env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1");
    }
}
