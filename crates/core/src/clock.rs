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

impl Timestamp {
    /// Returns the day in UTC, such as `2026-11-15`.
    pub fn utc_day(self) -> String {
        // Counted in years that start in March, so that the leap day is the last day.
        let days = self.0 / 86_400_000 + 719_468;
        let era = days / 146_097;
        let of_era = days % 146_097;
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * march + 2) / 5 + 1;
        let month = if march < 10 { march + 3 } else { march - 9 };
        let year = year + era * 400 + u64::from(month <= 2);
        format!("{year:04}-{month:02}-{day:02}")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_matches_the_calendar() {
        let check = |seconds: u64, expected: &str| {
            assert_eq!(Timestamp(seconds * 1000).utc_day(), expected);
        };
        check(0, "1970-01-01");
        check(951_782_400, "2000-02-29");
        check(1_709_164_799, "2024-02-28");
        check(1_709_251_199, "2024-02-29");
        check(1_794_700_800, "2026-11-15");
        check(4_107_542_399, "2100-02-28");
        check(4_107_542_400, "2100-03-01");
    }
}
