//! GitHub's Copilot CLI.

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{LaunchConfig, LaunchContext, Preset, Quirks};
use crate::program::known;

pub(super) const PRESET: Preset = Preset {
    program: &known::copilot::PROGRAM,
    args: &["--acp"],
    capabilities: COMMON_CAPABILITIES,
    launch_config,
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
    // With another endpoint it does not start without a model.
    let default = context.endpoint.map(|_| "default");
    if let Some(model) = context.model.or(default) {
        command.env("COPILOT_MODEL", model);
    }
}
