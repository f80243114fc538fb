//! GitHub's Copilot CLI.

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{
    AcpStatePaths, LaunchConfig, LaunchContext, Preset, Quirks, VersionProbe,
};

pub(super) const PRESET: Preset = Preset {
    name: "copilot",
    programs: &["copilot"],
    args: &["--acp"],
    install: "install it with `npm install -g @github/copilot`, then run `copilot` once to log in",
    probe: VersionProbe::Flag,
    home: AcpStatePaths {
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
    capabilities: COMMON_CAPABILITIES,
    launch_config,
    words: &[],
    meta: None,
    shims: Quirks {
        model_is_launch_arg: true,
        notice_prefixes: &["Info: "],
        error_prefixes: &["Error: "],
        running_total: true,
        input_includes_cached: true,
        exit_code_prefix: Some(" completed with exit code "),
        ..Quirks::NONE
    },
};

fn launch_config(wish: &LaunchContext<'_>, outfit: &mut LaunchConfig) {
    let command = &mut outfit.command;
    command.arg("--no-auto-update");
    if let Some(model) = wish.model {
        command.env("COPILOT_MODEL", model);
    }
    if let Some(endpoint) = wish.endpoint {
        command.env("COPILOT_PROVIDER_BASE_URL", endpoint.url_with_version());
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
