//! opencode.

use serde_json::{Value, json};
use windlass_core::Capabilities;

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{LaunchConfig, LaunchContext, Preset, Quirks, UsageSource};
use crate::program::EndpointAuth;
use crate::program::known::{self, PROVIDER_NAME};

pub(super) const PRESET: Preset = Preset {
    program: &known::opencode::PROGRAM,
    args: &["acp"],
    capabilities: Capabilities {
        cost: true,
        ..COMMON_CAPABILITIES
    },
    launch_config,
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
        let key = if endpoint.auth == EndpointAuth::Key {
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
}
