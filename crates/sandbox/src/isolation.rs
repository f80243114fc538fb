//! What a launch needs to know of this machine: the mechanism, its programs and the limits.

use std::path::PathBuf;

use crate::host::Host;
use crate::limits::LimitOverrides;
use crate::mechanism::Mechanism;

/// The isolation of every command of a [`Sandbox`](crate::Sandbox).
#[derive(Debug, Clone)]
pub(crate) struct Isolation {
    pub(crate) mechanism: Mechanism,
    pub(crate) host: Host,
    /// The program of the init process.
    pub(crate) init: PathBuf,
    /// The path of `bwrap`; empty for other mechanisms.
    pub(crate) bwrap: PathBuf,
    /// The path of `unshare`; empty for other mechanisms.
    pub(crate) unshare: PathBuf,
    pub(crate) limits: LimitOverrides,
}
