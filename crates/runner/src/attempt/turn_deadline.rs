//! When the current turn of a conversation ends.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use windlass_core::{Clock, Timestamp};

/// When the current turn ends at the latest. The conversation sets it, and the approver stores it with each permission
/// request.
#[derive(Debug, Clone)]
pub(super) struct TurnDeadline {
    clock: Arc<dyn Clock>,
    at: Arc<Mutex<Option<Timestamp>>>,
}

impl TurnDeadline {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            at: Arc::default(),
        }
    }

    /// Sets the deadline of a turn that starts now.
    pub(super) fn start(&self, limit: Duration) {
        let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let end = self.clock.now().0.saturating_add(limit);
        *self.at.lock() = Some(Timestamp(end));
    }

    /// Returns the deadline of the current turn.
    pub(super) fn get(&self) -> Option<Timestamp> {
        *self.at.lock()
    }
}
