//! pi, through `pi-acp`.

use serde_json::json;

use super::with_model_at_launch;
use crate::acp::preset::{LaunchConfig, LaunchContext, Preset};
use crate::program::EndpointAuth;
use crate::program::known::{self, PROVIDER_NAME};

pub(super) const PRESET: Preset = with_model_at_launch(&known::pi::PROGRAM, &[], launch_config);

/// The key stays in the environment.
fn launch_config(context: &LaunchContext<'_>, config: &mut LaunchConfig) {
    let Some(endpoint) = context.endpoint else {
        return;
    };
    let model = context.model.unwrap_or("default");
    let key = if endpoint.auth == EndpointAuth::Key {
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
