//! Simulated time: tokio's paused clock, which advances when all tasks are idle.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::Instant;
use windlass_core::{Clock, Timestamp};

/// A clock on paused time. Its wall clock can jump.
#[derive(Debug)]
pub(crate) struct SimClock {
    start: Instant,
    wall: AtomicI64,
}

impl SimClock {
    /// Creates the clock. Must be called in a paused runtime.
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            wall: AtomicI64::new(1_700_000_000_000),
        }
    }

    /// Moves the wall clock forward or back.
    pub(crate) fn jump(&self, seconds: i64) {
        self.wall.fetch_add(seconds * 1000, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        let wall =
            self.wall.load(Ordering::Relaxed) + i64::try_from(self.elapsed().as_millis()).unwrap();
        Timestamp(u64::try_from(wall).unwrap())
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
