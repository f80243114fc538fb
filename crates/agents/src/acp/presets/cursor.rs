//! Cursor's agent: written from its documentation and others' recordings, and not run, for no registry has it.

use windlass_core::Capabilities;

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{AcpStatePaths, Preset, Quirks, VersionProbe};

pub(super) const PRESET: Preset = Preset {
    name: "cursor",
    programs: &["cursor-agent", "agent"],
    args: &["acp"],
    install: "see cursor.com/cli for how to install it, then run `cursor-agent login`",
    probe: VersionProbe::Flag,
    home: AcpStatePaths {
        variable: "CURSOR_CONFIG_DIR",
        folders: &[".cursor"],
        files: &[],
    },
    keys: &["CURSOR_API_KEY"],
    endpoint: false,
    capabilities: Capabilities {
        usage: false,
        ..COMMON_CAPABILITIES
    },
    launch_config: |_, _| {},
    words: &[],
    meta: None,
    shims: Quirks {
        // It asks about next to nothing: only the mode for questions keeps it from acting.
        ask_mode: Some("ask"),
        ..Quirks::NONE
    },
};
