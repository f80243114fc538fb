//! Which connections to a server are tested before their next use.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long a connection may be unused before it is tested. A server that was restarted has closed it.
pub(crate) const MAX_UNTESTED: Duration = Duration::from_secs(1);

/// When a connection to a server last broke. The server was probably restarted, so the others are tested before their next use.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastBreak(Arc<Mutex<Option<Instant>>>);

impl LastBreak {
    pub(crate) fn record(&self) {
        *self.last() = Some(Instant::now());
    }

    /// Returns `true` if a connection must be tested that was not used for this long.
    pub(crate) fn is_suspect(&self, unused: Duration) -> bool {
        let since = self.last().map(|at| at.elapsed());
        unused > MAX_UNTESTED || since.is_some_and(|since| since < unused)
    }

    fn last(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
