//! Gemini CLI.

use serde_json::json;

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{
    AcpStatePaths, LaunchConfig, LaunchContext, Preset, Quirks, UsageSource, VersionProbe,
};

pub(super) const PRESET: Preset = Preset {
    name: "gemini",
    programs: &["gemini"],
    args: &["--acp"],
    install: "install it with `npm install -g @google/gemini-cli`, then run `gemini` once to log in",
    probe: VersionProbe::Flag,
    home: AcpStatePaths {
        variable: "HOME",
        dirs: &[".gemini"],
        files: &[],
    },
    keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    endpoint: true,
    capabilities: COMMON_CAPABILITIES,
    launch_config,
    instructions: &[],
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
    // Otherwise it relaunches itself, and waits for a person in a directory that it does not trust yet.
    command.env("GEMINI_CLI_NO_RELAUNCH", "true");
    command.env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    if let Some(model) = context.model {
        command.option("model", model);
    }
    if let Some(endpoint) = context.endpoint {
        command.env("GOOGLE_GEMINI_BASE_URL", endpoint.url_without_version());
        if !endpoint.has_key {
            command.env("GEMINI_API_KEY", "none");
        }
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
