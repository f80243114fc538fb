//! Qwen Code. Its one-shot mode is a profile in [`cli`](crate::cli::qwen).

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{
    AcpStatePaths, LaunchConfig, LaunchContext, Preset, Quirks, UsageSource, VersionProbe,
};

pub(super) const PRESET: Preset = Preset {
    name: "qwen",
    programs: &["qwen"],
    args: &["--acp"],
    install: "install it with `npm install -g @qwen-code/qwen-code` (Node 22 or later), then run `qwen` once to log in",
    probe: VersionProbe::Flag,
    home: AcpStatePaths {
        variable: "HOME",
        dirs: &[".qwen"],
        files: &[],
    },
    keys: &["OPENAI_API_KEY"],
    endpoint: true,
    capabilities: COMMON_CAPABILITIES,
    launch_config,
    instructions: &[],
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
    if let Some(endpoint) = context.endpoint {
        command.option("auth-type", "openai");
        command.env("OPENAI_BASE_URL", endpoint.url_with_version());
        if !endpoint.has_key {
            command.env("OPENAI_API_KEY", "none");
        }
    }
}
