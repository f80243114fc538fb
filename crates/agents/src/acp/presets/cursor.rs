//! Cursor's agent: written from its documentation and others' recordings, and not run, for no registry has it.

use windlass_core::Capabilities;

use super::COMMON;
use crate::acp::preset::{Home, Preset, Probe, Shims};

pub(super) const PRESET: Preset = Preset {
    name: "cursor",
    programs: &["cursor-agent", "agent"],
    args: &["acp"],
    install: "see cursor.com/cli for how to install it, then run `cursor-agent login`",
    probe: Probe::Flag,
    home: Home {
        variable: "CURSOR_CONFIG_DIR",
        folders: &[".cursor"],
        files: &[],
    },
    keys: &["CURSOR_API_KEY"],
    endpoint: false,
    capabilities: Capabilities {
        usage: false,
        ..COMMON
    },
    dress: |_, _| {},
    words: &[],
    meta: None,
    shims: Shims {
        // It asks about next to nothing: only the mode for questions keeps it from acting.
        asking_mode: Some("ask"),
        ..Shims::NONE
    },
};
