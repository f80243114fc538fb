//! The clock, as a trait that tests can replace.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

/// A point in time, in milliseconds since the Unix epoch.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A source of time.
///
/// Wall-clock time is for display and may jump. Measure and wait with `elapsed` and `sleep`.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Returns the wall-clock time. It may jump in either direction.
    fn now(&self) -> Timestamp;

    /// Returns the time since a fixed point. It never decreases.
    fn elapsed(&self) -> Duration;

    /// Waits for the given duration.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// A clock for leases. It never jumps. Clocks with the same id agree across processes.
pub trait LeaseClock: fmt::Debug + Send + Sync {
    /// Returns the id. Times of clocks with different ids cannot be compared.
    fn id(&self) -> &str;

    /// Returns the time since a fixed point of this clock. It never decreases.
    fn now(&self) -> Duration;
}

/// The system clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: tokio::time::Instant,
}

impl SystemClock {
    /// Creates a clock with an elapsed time of zero.
    pub fn new() -> Self {
        Self {
            start: tokio::time::Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the only code that reads the system clock"
    )]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
