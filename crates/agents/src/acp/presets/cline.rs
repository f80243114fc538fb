//! Cline.

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{Preset, Quirks};
use crate::program::known;

pub(super) const PRESET: Preset = Preset {
    program: &known::cline::PROGRAM,
    args: &["--acp"],
    capabilities: COMMON_CAPABILITIES,
    launch_config: |_, _| {},
    meta: None,
    quirks: Quirks::NONE,
};
