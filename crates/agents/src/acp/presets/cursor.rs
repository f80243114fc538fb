//! Cursor's agent. Written from its documentation and from recordings of others; not tested, because no package
//! registry has it.

use windlass_core::Capabilities;

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{Preset, Quirks};
use crate::program::known;

pub(super) const PRESET: Preset = Preset {
    program: &known::cursor::PROGRAM,
    args: &["acp"],
    capabilities: Capabilities {
        usage: false,
        ..COMMON_CAPABILITIES
    },
    launch_config: |_, _| {},
    meta: None,
    quirks: Quirks {
        // It asks before almost nothing: only its mode for questions keeps it from acting.
        ask_mode: Some("ask"),
        ..Quirks::NONE
    },
};
