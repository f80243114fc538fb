//! fast-agent.

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{LaunchConfig, LaunchContext, Preset, Quirks};
use crate::program::known;

pub(super) const PRESET: Preset = Preset {
    program: &known::fast_agent::PROGRAM,
    args: &["--shell"],
    capabilities: COMMON_CAPABILITIES,
    launch_config,
    meta: None,
    quirks: Quirks {
        model_is_launch_arg: true,
        ..Quirks::NONE
    },
};

fn launch_config(context: &LaunchContext<'_>, config: &mut LaunchConfig) {
    let command = &mut config.command;
    // By default, it keeps its sessions in the working directory.
    if let Some(dir) = context.default_state_dir {
        command.env("FAST_AGENT_HOME", dir.display().to_string());
    }
    match (context.model, context.endpoint) {
        (model, Some(_)) => {
            let model = model.unwrap_or("default");
            command.option("model", &format!("generic.{model}"));
        }
        (Some(model), None) => {
            command.option("model", model);
        }
        (None, None) => {}
    }
}
