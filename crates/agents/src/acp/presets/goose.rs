//! Goose: written from its documentation, and not run.

use windlass_core::Capabilities;

use super::COMMON;
use crate::acp::preset::{Home, Outfit, Preset, Probe, Shims, Wish};

pub(super) const PRESET: Preset = Preset {
    name: "goose",
    programs: &["goose"],
    args: &["acp"],
    install: "see block.github.io/goose for how to install it, then run `goose configure`",
    probe: Probe::Flag,
    home: Home {
        variable: "HOME",
        folders: &[".config/goose", ".local/share/goose", ".local/state/goose"],
        files: &[],
    },
    keys: &["OPENAI_API_KEY", "ANTHROPIC_API_KEY"],
    endpoint: true,
    capabilities: Capabilities {
        usage: false,
        ..COMMON
    },
    dress,
    words: &[],
    meta: None,
    shims: Shims {
        model_at_start: true,
        ..Shims::NONE
    },
};

fn dress(wish: &Wish<'_>, outfit: &mut Outfit) {
    let command = &mut outfit.command;
    command.env("GOOSE_MODE", if wish.asks { "approve" } else { "auto" });
    if let Some(model) = wish.model {
        command.env("GOOSE_MODEL", model);
    }
    if let Some(endpoint) = wish.endpoint {
        command.env("GOOSE_PROVIDER", "openai");
        command.env("OPENAI_HOST", endpoint.bare());
        command.env("GOOSE_DISABLE_KEYRING", "1");
        if !endpoint.has_key {
            command.env("OPENAI_API_KEY", "none");
        }
    }
}
