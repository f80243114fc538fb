//! Kimi Code.

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{LaunchConfig, LaunchContext, Preset, Quirks};
use crate::program::known;

pub(super) const PRESET: Preset = Preset {
    program: &known::kimi::PROGRAM,
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
    // Without a model, Kimi ignores the variables of an endpoint.
    let model = context.model.or(context.endpoint.map(|_| "default"));
    if let Some(model) = model {
        config.command.env("KIMI_MODEL_NAME", model);
    }
}
