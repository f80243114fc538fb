//! Qwen Code. Its one-shot mode is a profile in [`cli`](crate::cli::qwen).

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{LaunchConfig, LaunchContext, Preset, Quirks, UsageSource};
use crate::program::known;

pub(super) const PRESET: Preset = Preset {
    program: &known::qwen::PROGRAM,
    args: &["--acp"],
    capabilities: COMMON_CAPABILITIES,
    launch_config,
    meta: None,
    quirks: Quirks {
        auto_mode: Some("yolo"),
        ask_mode: Some("default"),
        model_is_launch_arg: true,
        usage: UsageSource::Chunks,
        input_includes_cached: true,
        ..Quirks::NONE
    },
};

fn launch_config(context: &LaunchContext<'_>, config: &mut LaunchConfig) {
    let command = &mut config.command;
    if let Some(model) = context.model {
        command.option("model", model);
    }
}
