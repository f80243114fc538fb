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
        // It unpacks itself into the second directory.
        dirs: &[".copilot", ".cache/copilot"],
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
    instructions: &[],
    meta: None,
    quirks: Quirks {
        model_is_launch_arg: true,
        notice_prefixes: &["Info: "],
        error_prefixes: &["Error: "],
        running_total: true,
        input_includes_cached: true,
        exit_code_prefix: Some(" completed with exit code "),
        ..Quirks::NONE
    },
};

fn launch_config(context: &LaunchContext<'_>, config: &mut LaunchConfig) {
    let command = &mut config.command;
    command.arg("--no-auto-update");
    if let Some(model) = context.model {
        command.env("COPILOT_MODEL", model);
    }
    if let Some(endpoint) = context.endpoint {
        command.env("COPILOT_PROVIDER_BASE_URL", endpoint.url_with_version());
        command.env("COPILOT_PROVIDER_TYPE", "openai");
        command.env("COPILOT_PROVIDER_WIRE_API", "completions");
        command.env("COPILOT_OFFLINE", "true");
        if context.model.is_none() {
            // It does not start without a model.
            command.env("COPILOT_MODEL", "default");
        }
        if !endpoint.has_key {
            command.env("COPILOT_PROVIDER_API_KEY", "none");
        }
    }
}
