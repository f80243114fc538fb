//! Gemini CLI.

use serde_json::json;

use super::COMMON;
use crate::acp::preset::{Home, Outfit, Preset, Probe, Shims, UsageIn, Wish};

pub(super) const PRESET: Preset = Preset {
    name: "gemini",
    programs: &["gemini"],
    args: &["--acp"],
    install: "install it with `npm install -g @google/gemini-cli`, then run `gemini` once to log in",
    probe: Probe::Flag,
    home: Home {
        variable: "HOME",
        folders: &[".gemini"],
        files: &[],
    },
    keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    endpoint: true,
    capabilities: COMMON,
    dress,
    words: &[],
    meta: None,
    shims: Shims {
        model_at_start: true,
        notices: &["[MODE_UPDATE]"],
        usage: UsageIn::Quota,
        fragile_minute: Some(".gemini/tmp"),
        ..Shims::NONE
    },
};

fn dress(wish: &Wish<'_>, outfit: &mut Outfit) {
    let command = &mut outfit.command;
    // Else it starts itself a second time, and waits for a person in a folder that it does not know.
    command.env("GEMINI_CLI_NO_RELAUNCH", "true");
    command.env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    if let Some(model) = wish.model {
        command.option("model", model);
    }
    if let Some(endpoint) = wish.endpoint {
        command.env("GOOGLE_GEMINI_BASE_URL", endpoint.bare());
        if !endpoint.has_key {
            command.env("GEMINI_API_KEY", "none");
        }
        // With another address it would choose a way to log in that needs a person.
        let settings = json!({
            "security": { "auth": { "selectedType": "gemini-api-key" } },
            "general": { "maxAttempts": 2, "disableAutoUpdate": true },
            "privacy": { "usageStatisticsEnabled": false },
        });
        let file = (".gemini/settings.json", settings.to_string());
        outfit.files.push(file);
    }
}
