//! fast-agent.

use super::with_model_at_launch;
use crate::acp::preset::{LaunchConfig, LaunchContext, Preset, Quirks};
use crate::program::known;

pub(super) const PRESET: Preset = Preset {
    quirks: Quirks {
        model_is_launch_arg: true,
        error_prefixes: &["I hit an internal error while calling the model: "],
        ..Quirks::NONE
    },
    ..with_model_at_launch(&known::fast_agent::PROGRAM, &["--shell"], launch_config)
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
