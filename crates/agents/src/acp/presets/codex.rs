//! Codex through `codex-acp`.

use serde_json::json;

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{LaunchConfig, LaunchContext, Preset, Quirks};
use crate::program::EndpointAuth;
use crate::program::known::{self, PROVIDER_NAME};

pub(super) const PRESET: Preset = Preset {
    program: &known::codex::ACP_PROGRAM,
    args: &[],
    capabilities: COMMON_CAPABILITIES,
    launch_config,
    meta: None,
    quirks: Quirks {
        // The Windlass sandbox confines it; its own sandbox cannot start inside every mechanism.
        auto_mode: Some("agent-full-access"),
        ask_mode: Some("read-only"),
        model_is_launch_arg: true,
        errors_lack_message_id: true,
        tools_survive_cancel: true,
        ..Quirks::NONE
    },
};

fn launch_config(context: &LaunchContext<'_>, config: &mut LaunchConfig) {
    let mut settings = json!({
        "shell_environment_policy": { "ignore_default_excludes": false },
        // Otherwise Codex would apply the repository's `.codex`.
        "projects": { context.cwd.display().to_string(): { "trust_level": "untrusted" } },
    });
    if let Some(model) = context.model {
        settings["model"] = model.into();
    }
    if let Some(endpoint) = context.endpoint {
        let mut provider = json!({
            "name": PROVIDER_NAME,
            "base_url": known::codex::base_url(&endpoint),
            "wire_api": "responses",
            "request_max_retries": 2,
            "stream_max_retries": 2,
        });
        match endpoint.auth {
            EndpointAuth::Key => provider["env_key"] = known::codex::KEY.into(),
            EndpointAuth::OwnLogin => provider["requires_openai_auth"] = true.into(),
            EndpointAuth::None => {}
        }
        settings["model_provider"] = PROVIDER_NAME.into();
        settings["model_providers"] = json!({ PROVIDER_NAME: provider });
    }
    config.command.env("CODEX_CONFIG", settings.to_string());
    let mode = if context.asks_permission {
        "read-only"
    } else {
        "agent-full-access"
    };
    config.command.env("INITIAL_AGENT_MODE", mode);
}
