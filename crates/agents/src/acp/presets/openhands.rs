//! OpenHands.

use super::with_model_at_launch;
use crate::acp::preset::{LaunchConfig, LaunchContext, Preset};
use crate::program::known;

pub(super) const PRESET: Preset =
    with_model_at_launch(&known::openhands::PROGRAM, &["acp"], launch_config);

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
