//! Clocks for leases: the machine's own, and one that a test moves.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use windlass_core::{Clock, LeaseClock, SystemClock};

/// The time of one call, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeaseTime<'a> {
    /// The id of the own clock.
    pub(crate) clock: &'a str,
    /// The own clock, which never jumps.
    pub(crate) now: i64,
    /// The database's clock, which may jump.
    pub(crate) database: i64,
}

/// The monotonic clock of this machine, which all its processes share until the next start.
///
/// It stops while the machine sleeps, as its workers do. Setting the wall clock does not change it.
#[derive(Debug, Clone)]
pub(crate) struct MachineClock {
    id: String,
}

impl MachineClock {
    pub(crate) fn new() -> Self {
        // A time namespace has its own offset, so its processes do not share the clock of the others.
        let namespace = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
        let id = match boot_id() {
            Some(boot) => format!("{boot} {}", namespace.display()),
            // A clock that no other process has is correct too: the others watch its leases.
            None => format!(
                "process {} {}",
                std::process::id(),
                SystemClock::new().now()
            ),
        };
        Self { id }
    }
}

impl LeaseClock for MachineClock {
    fn id(&self) -> &str {
        &self.id
    }

    fn now(&self) -> Duration {
        let now = clock_gettime(ClockId::Monotonic);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0))
    }
}

/// Returns the random id that the kernel generates at each start.
fn boot_id() -> Option<String> {
    let file = std::fs::File::open("/proc/sys/kernel/random/boot_id").ok()?;
    let mut text = String::new();
    file.take(64).read_to_string(&mut text).ok()?;
    let id = text.trim();
    (!id.is_empty()).then(|| id.to_owned())
}

/// A clock that only a test moves. Clones are the same clock.
#[derive(Debug, Clone)]
pub struct ManualClock {
    id: String,
    /// What this clock shows in addition to the shared time.
    offset: Duration,
    millis: Arc<AtomicU64>,
}

impl ManualClock {
    /// Creates a clock with this id.
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            offset: Duration::ZERO,
            millis: Arc::default(),
        }
    }

    /// Returns the clock of another machine: the same time passes on both, but they show different times.
    #[must_use]
    pub fn elsewhere(&self, id: &str, offset: Duration) -> Self {
        Self {
            id: id.to_owned(),
            offset,
            millis: Arc::clone(&self.millis),
        }
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        let millis = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.millis.fetch_add(millis, Ordering::Relaxed);
    }
}

impl LeaseClock for ManualClock {
    fn id(&self) -> &str {
        &self.id
    }

    fn now(&self) -> Duration {
        self.offset + Duration::from_millis(self.millis.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_one_machine_share_the_clock() {
        let (one, two) = (MachineClock::new(), MachineClock::new());
        assert_eq!(one.id(), two.id());
        let first = one.now();
        assert!(two.now() >= first);
    }
}
