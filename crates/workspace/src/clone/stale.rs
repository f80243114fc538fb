//! Clones that a dead process left.

use std::time::Duration;

use windlass_tasks::AttemptRef;

use super::{ClonesDir, OpenClone};
use crate::error::Result;

/// Opens the clones of these attempts that no process uses. One that is older than `max_age` or of
/// unknown origin is removed instead. It stays if its repository cannot be used now.
pub(super) fn open_stale(
    dir: &ClonesDir,
    attempts: Vec<AttemptRef>,
    max_age: Duration,
) -> Result<Vec<(AttemptRef, OpenClone)>> {
    let mut clones = Vec::new();
    for attempt in attempts {
        let Some((path, lock)) = dir.lock(attempt) else {
            continue;
        };
        if dir.is_old(&path, max_age) {
            dir.remove(&path)?;
            continue;
        }
        match OpenClone::reopen(path.clone(), lock) {
            Ok(Some(clone)) => clones.push((attempt, clone)),
            Ok(None) => dir.remove(&path)?,
            Err(error) => tracing::warn!(%attempt, %error, "a killed attempt's change is not kept"),
        }
    }
    Ok(clones)
}
