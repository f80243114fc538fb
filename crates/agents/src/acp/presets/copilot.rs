//! GitHub's Copilot CLI.

use super::COMMON;
use crate::acp::preset::{Home, Outfit, Preset, Probe, Shims, Wish};

pub(super) const PRESET: Preset = Preset {
    name: "copilot",
    programs: &["copilot"],
    args: &["--acp"],
    install: "install it with `npm install -g @github/copilot`, then run `copilot` once to log in",
    probe: Probe::Flag,
    home: Home {
        variable: "HOME",
        // The second is where it unpacks itself.
        folders: &[".copilot", ".cache/copilot"],
        files: &[],
    },
    keys: &[
        "COPILOT_PROVIDER_API_KEY",
        "COPILOT_GITHUB_TOKEN",
        "GH_TOKEN",
    ],
    endpoint: true,
    capabilities: COMMON,
    dress,
    words: &[],
    meta: None,
    shims: Shims {
        model_at_start: true,
        notices: &["Info: "],
        complaints: &["Error: "],
        running_total: true,
        input_holds_cached: true,
        exit_note: Some(" completed with exit code "),
        ..Shims::NONE
    },
};

fn dress(wish: &Wish<'_>, outfit: &mut Outfit) {
    let command = &mut outfit.command;
    command.arg("--no-auto-update");
    if let Some(model) = wish.model {
        command.env("COPILOT_MODEL", model);
    }
    if let Some(endpoint) = wish.endpoint {
        command.env("COPILOT_PROVIDER_BASE_URL", endpoint.versioned());
        command.env("COPILOT_PROVIDER_TYPE", "openai");
        command.env("COPILOT_PROVIDER_WIRE_API", "completions");
        command.env("COPILOT_OFFLINE", "true");
        if wish.model.is_none() {
            // It does not start without one.
            command.env("COPILOT_MODEL", "default");
        }
        if !endpoint.has_key {
            command.env("COPILOT_PROVIDER_API_KEY", "none");
        }
    }
}
