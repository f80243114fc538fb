//! Mistral Vibe.

use serde_json::Value;

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{LaunchConfig, LaunchContext, Preset, Quirks};
use crate::program::known::{self, PROVIDER_NAME};

pub(super) const PRESET: Preset = Preset {
    program: &known::vibe::PROGRAM,
    args: &[],
    capabilities: COMMON_CAPABILITIES,
    launch_config,
    meta: None,
    quirks: Quirks {
        auto_mode: Some("auto-approve"),
        ask_mode: Some("ask"),
        model_is_launch_arg: true,
        ..Quirks::NONE
    },
};

/// The key stays in the environment.
fn launch_config(context: &LaunchContext<'_>, config: &mut LaunchConfig) {
    if let Some(endpoint) = context.endpoint {
        let model = context.model.unwrap_or("default");
        // A JSON text is also a basic string of TOML.
        let text = |value: &str| Value::from(value).to_string();
        let (url, model) = (text(&endpoint.url_with_version()), text(model));
        let file = format!(
            "active_model = \"{PROVIDER_NAME}\"\nenable_telemetry = false\nenable_update_checks = false\n\
             enable_auto_update = false\n\n[[providers]]\nname = \"{PROVIDER_NAME}\"\napi_base = {url}\n\
             api_key_env_var = \"MISTRAL_API_KEY\"\n\n[[models]]\nname = {model}\nprovider = \"{PROVIDER_NAME}\"\n\
             alias = \"{PROVIDER_NAME}\"\n"
        );
        config.files = vec![("config.toml", file)];
    } else if let Some(model) = context.model {
        config.command.env("VIBE_ACTIVE_MODEL", model);
    }
}
