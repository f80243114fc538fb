//! Goose. Written from its documentation; not tested.

use windlass_core::Capabilities;

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{LaunchConfig, LaunchContext, Preset, Quirks};
use crate::program::known;

pub(super) const PRESET: Preset = Preset {
    program: &known::goose::PROGRAM,
    args: &["acp"],
    capabilities: Capabilities {
        usage: false,
        ..COMMON_CAPABILITIES
    },
    launch_config,
    meta: None,
    quirks: Quirks {
        model_is_launch_arg: true,
        ..Quirks::NONE
    },
};

fn launch_config(context: &LaunchContext<'_>, config: &mut LaunchConfig) {
    let command = &mut config.command;
    command.env(
        "GOOSE_MODE",
        if context.asks_permission {
            "approve"
        } else {
            "auto"
        },
    );
    if let Some(model) = context.model {
        command.env("GOOSE_MODEL", model);
    }
}
