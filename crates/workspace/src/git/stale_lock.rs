//! Locks on a ref of Windlass left over from a killed process.
//!
//! Git locks a ref with a file next to it for a few milliseconds. A process that is killed in that
//! time leaves the file, and git then rejects every later update. Only refs that Windlass itself
//! writes are unlocked.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// The refs that only Windlass writes. Only one attempt at a time holds a task, so no other process
/// updates them.
const OWN_REFS: [&str; 2] = ["refs/heads/windlass/", "refs/windlass/"];
/// How often the same lock must be seen before its owner counts as dead: for five seconds.
const STALE_AFTER_POLLS: u32 = 50;
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Waits until the ref is unlocked, and removes a lock that stays the same for too long.
///
/// Returns immediately if the ref is not locked or not written by Windlass.
pub(crate) async fn wait_or_remove(common_dir: &Path, name: &str) -> std::io::Result<()> {
    if !OWN_REFS.iter().any(|own| name.starts_with(own)) {
        return Ok(());
    }
    wait_or_remove_any(common_dir, name).await
}

/// Waits until any ref is unlocked, and removes a lock that stays the same for too long: git holds one for
/// milliseconds.
pub(crate) async fn wait_or_remove_any(common_dir: &Path, name: &str) -> std::io::Result<()> {
    let lock = common_dir.join(format!("{name}.lock"));
    let mut seen = identity(&lock);
    let mut polls = 0;
    while let Some(current) = seen {
        if polls >= STALE_AFTER_POLLS {
            tracing::warn!(lock = %lock.display(), "removed a stale lock of a killed process");
            return match std::fs::remove_file(&lock) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        tokio::time::sleep(POLL_INTERVAL).await;
        seen = identity(&lock);
        polls = if seen == Some(current) { polls + 1 } else { 0 };
    }
    Ok(())
}

/// Returns the identity of a lock file: a new file has another inode or another time.
fn identity(lock: &Path) -> Option<(u64, i64, i64)> {
    let found = lock.symlink_metadata().ok()?;
    Some((found.ino(), found.mtime(), found.mtime_nsec()))
}
