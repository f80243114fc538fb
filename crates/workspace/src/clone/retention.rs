//! How long and how many changes of attempts are kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long and how many changes of attempts are kept in one repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Older changes are deleted.
    pub max_age: Duration,
    /// Of more changes than this, the oldest are deleted.
    pub max_count: u32,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            max_age: DAY * 90,
            max_count: 1000,
        }
    }
}

/// Decides when to prune: with the first change that a process keeps, then after every sixteenth of
/// the maximum number.
#[derive(Debug, Clone, Default)]
pub(crate) struct PruneTimer(Arc<AtomicU32>);

impl PruneTimer {
    pub(crate) fn is_due(&self, retention: Retention) -> bool {
        let interval = (retention.max_count / 16).max(1);
        let kept = self.0.fetch_add(1, Ordering::Relaxed);
        kept.is_multiple_of(interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_change_of_a_process_prunes() {
        let timer = PruneTimer::default();
        let retention = Retention {
            max_count: 32,
            ..Retention::default()
        };
        let due: Vec<bool> = (0..5).map(|_| timer.is_due(retention)).collect();
        assert_eq!(due, [true, false, true, false, true]);
    }
}
