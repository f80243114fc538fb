//! The time of the last use of a stored file, which is its modification time.

use std::path::Path;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW};

/// Notes that a file is used now. Without the note, what it belongs to is removed earlier.
pub(crate) fn mark_used(path: &Path) {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    let _ = rustix::fs::utimensat(CWD, path, &times, AtFlags::empty());
}
