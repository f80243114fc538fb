//! Goose: written from its documentation, and not run.

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
        folders: &[".config/goose", ".local/share/goose", ".local/state/goose"],
        files: &[],
    },
    keys: &["OPENAI_API_KEY", "ANTHROPIC_API_KEY"],
    endpoint: true,
    capabilities: Capabilities {
        usage: false,
        ..COMMON_CAPABILITIES
    },
    launch_config,
    words: &[],
    meta: None,
    shims: Quirks {
        model_is_launch_arg: true,
        ..Quirks::NONE
    },
};

fn launch_config(wish: &LaunchContext<'_>, outfit: &mut LaunchConfig) {
    let command = &mut outfit.command;
    command.env(
        "GOOSE_MODE",
        if wish.asks_permission {
            "approve"
        } else {
            "auto"
        },
    );
    if let Some(model) = wish.model {
        command.env("GOOSE_MODEL", model);
    }
    if let Some(endpoint) = wish.endpoint {
        command.env("GOOSE_PROVIDER", "openai");
        command.env("OPENAI_HOST", endpoint.url_without_version());
        command.env("GOOSE_DISABLE_KEYRING", "1");
        if !endpoint.has_key {
            command.env("OPENAI_API_KEY", "none");
        }
    }
}
