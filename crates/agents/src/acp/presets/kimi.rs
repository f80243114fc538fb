//! Kimi Code.

use super::with_model_at_launch;
use crate::acp::preset::{LaunchConfig, LaunchContext, Preset};
use crate::program::known;

pub(super) const PRESET: Preset =
    with_model_at_launch(&known::kimi::PROGRAM, &["acp"], launch_config);

fn launch_config(context: &LaunchContext<'_>, config: &mut LaunchConfig) {
    // Without a model, Kimi ignores the variables of an endpoint.
    let model = context.model.or(context.endpoint.map(|_| "default"));
    if let Some(model) = model {
        config.command.env("KIMI_MODEL_NAME", model);
    }
}
