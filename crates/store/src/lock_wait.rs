//! How a writer waits while another process writes to the file.
//!
//! SQLite's lock has no queue, and SQLite itself looks at it less and less often. A process that writes all the time could keep
//! others out for seconds. So SQLite waits for some milliseconds only, and the writer asks again.

use tokio::time::Instant;
use windlass_tasks::{StoreError, StoreResult};

use crate::error::BUSY_TIMEOUT;

/// How long SQLite waits for the lock of a transaction.
pub(crate) const WRITER_BUSY_MILLIS: &str = "20";

/// The wait of one transaction on SQLite.
pub(crate) struct LockWait(Instant);

impl LockWait {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns `true` if the statements that begin the transaction must be repeated. They have changed nothing then.
    pub(crate) fn goes_on<T>(&self, result: &StoreResult<T>) -> bool {
        let is_locked = matches!(result, Err(StoreError::Timeout { .. }));
        is_locked && self.0.elapsed() < BUSY_TIMEOUT
    }
}
