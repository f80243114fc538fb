//! Goose. Written from its documentation; not tested.

use windlass_core::Capabilities;

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{
    AcpStatePaths, LaunchConfig, LaunchContext, Preset, Quirks, VersionProbe,
};

pub(super) const PRESET: Preset = Preset {
    name: "goose",
    programs: &["goose"],
    args: &["acp"],
    install: "see block.github.io/goose for how to install it, then run `goose configure`",
    probe: VersionProbe::Flag,
    home: AcpStatePaths {
        variable: "HOME",
        dirs: &[".config/goose", ".local/share/goose", ".local/state/goose"],
        files: &[],
    },
    keys: &["OPENAI_API_KEY", "ANTHROPIC_API_KEY"],
    endpoint: true,
    capabilities: Capabilities {
        usage: false,
        ..COMMON_CAPABILITIES
    },
    launch_config,
    instructions: &[],
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
    if let Some(endpoint) = context.endpoint {
        command.env("GOOSE_PROVIDER", "openai");
        command.env("OPENAI_HOST", endpoint.url_without_version());
        command.env("GOOSE_DISABLE_KEYRING", "1");
        if !endpoint.has_key {
            command.env("OPENAI_API_KEY", "none");
        }
    }
}
