//! Cursor's agent. Written from its documentation and from recordings of others; not tested, because no package
//! registry has it.

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
        dirs: &[".cursor"],
        files: &[],
    },
    keys: &["CURSOR_API_KEY"],
    endpoint: false,
    capabilities: Capabilities {
        usage: false,
        ..COMMON_CAPABILITIES
    },
    launch_config: |_, _| {},
    instructions: &[],
    meta: None,
    quirks: Quirks {
        // It asks before almost nothing: only its mode for questions keeps it from acting.
        ask_mode: Some("ask"),
        ..Quirks::NONE
    },
};
