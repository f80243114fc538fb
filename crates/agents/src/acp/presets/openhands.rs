//! OpenHands.

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{LaunchConfig, LaunchContext, Preset, Quirks};
use crate::program::known;

pub(super) const PRESET: Preset = Preset {
    program: &known::openhands::PROGRAM,
    args: &["acp"],
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
    if let Some(model) = context.model.or(context.endpoint.map(|_| "default")) {
        // A model behind an endpoint is one of OpenAI's kind, unless it names another.
        let model = match context.endpoint {
            Some(_) if !model.contains('/') => format!("openai/{model}"),
            _ => model.to_owned(),
        };
        command.arg("--override-with-envs");
        command.env("LLM_MODEL", model);
    }
    if !context.asks_permission {
        command.arg("--always-approve");
    }
}
