//! pi, through `pi-acp`.

use serde_json::json;

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{LaunchConfig, LaunchContext, Preset, Quirks};
use crate::program::known::{self, PROVIDER_NAME};

pub(super) const PRESET: Preset = Preset {
    program: &known::pi::PROGRAM,
    args: &[],
    capabilities: COMMON_CAPABILITIES,
    launch_config,
    meta: None,
    quirks: Quirks {
        model_is_launch_arg: true,
        ..Quirks::NONE
    },
};

/// The key stays in the environment.
fn launch_config(context: &LaunchContext<'_>, config: &mut LaunchConfig) {
    let Some(endpoint) = context.endpoint else {
        return;
    };
    let model = context.model.unwrap_or("default");
    let key = if endpoint.has_key {
        "$OPENAI_API_KEY"
    } else {
        "none"
    };
    let models = json!({ "providers": { PROVIDER_NAME: {
        "baseUrl": endpoint.url_with_version(),
        "api": "openai-completions",
        "apiKey": key,
        "models": [{ "id": model }],
    } } });
    let settings = json!({
        "defaultProvider": PROVIDER_NAME,
        "defaultModel": model,
        "quietStartup": true,
        "retry": { "maxRetries": 2 },
    });
    config.files = vec![
        (".pi/agent/models.json", models.to_string()),
        (".pi/agent/settings.json", settings.to_string()),
    ];
}
