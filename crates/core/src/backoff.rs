//! Delays between retries.

use std::time::Duration;

/// Delays that double from an initial delay up to a maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    initial: Duration,
    max: Duration,
}

impl Backoff {
    /// Creates a backoff.
    pub const fn new(initial: Duration, max: Duration) -> Self {
        Self { initial, max }
    }

    /// Returns the delay before a retry. The first retry has number 0.
    pub fn delay(self, retry: u32) -> Duration {
        let factor = 1_u32.checked_shl(retry).unwrap_or(u32::MAX);
        self.initial.saturating_mul(factor).min(self.max)
    }

    /// Returns between half of the delay and all of it. `jitter` is between 0 and 1. It should differ between callers,
    /// so that callers that failed together do not retry together.
    pub fn delay_with_jitter(self, retry: u32, jitter: f64) -> Duration {
        self.delay(retry)
            .mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_doubles_up_to_the_maximum() {
        let backoff = Backoff::new(Duration::from_millis(10), Duration::from_millis(50));
        let delays = [0, 1, 2, 3, 31, 32, u32::MAX].map(|retry| backoff.delay(retry).as_millis());
        assert_eq!(delays, [10, 20, 40, 50, 50, 50, 50]);
        let jittered = [-1.0, 0.0, 0.5, 1.0, 9.0]
            .map(|jitter| backoff.delay_with_jitter(2, jitter).as_millis());
        assert_eq!(jittered, [20, 20, 30, 40, 40]);
    }
}
