//! Gemini CLI.

use serde_json::json;

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{LaunchConfig, LaunchContext, Preset, Quirks, UsageSource};
use crate::program::known;

pub(super) const PRESET: Preset = Preset {
    program: &known::gemini::PROGRAM,
    args: &["--acp"],
    capabilities: COMMON_CAPABILITIES,
    launch_config,
    meta: None,
    quirks: Quirks {
        model_is_launch_arg: true,
        notice_prefixes: &["[MODE_UPDATE]"],
        usage: UsageSource::Quota,
        same_minute_session_dir: Some(".gemini/tmp"),
        ..Quirks::NONE
    },
};

fn launch_config(context: &LaunchContext<'_>, config: &mut LaunchConfig) {
    let command = &mut config.command;
    if let Some(model) = context.model {
        command.option("model", model);
    }
    if context.endpoint.is_some() {
        // With another endpoint it would choose a login method that needs a person.
        let settings = json!({
            "security": { "auth": { "selectedType": "gemini-api-key" } },
            "general": { "maxAttempts": 2, "disableAutoUpdate": true },
            "privacy": { "usageStatisticsEnabled": false },
        });
        let file = (".gemini/settings.json", settings.to_string());
        config.files.push(file);
    }
}
