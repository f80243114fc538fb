//! Injected faults, chosen by one seed.

use std::sync::Mutex;
use std::time::Duration;

use windlass_core::{Clock, Error, ErrorCode, Result};

/// Fault rates and the random number generator.
#[derive(Debug)]
pub(crate) struct Faults {
    rng: Mutex<fastrand::Rng>,
    rates: Mutex<Rates>,
}

/// Faults per thousand calls.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rates {
    /// The call fails and changes nothing.
    pub(crate) rejected: u32,
    /// The call succeeds, but the reply is lost.
    pub(crate) lost: u32,
    /// The call takes long.
    pub(crate) slow: u32,
    /// All calls fail.
    pub(crate) unavailable: bool,
}

/// The outcome of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallOutcome {
    pub(crate) before: Duration,
    pub(crate) after: Duration,
    pub(crate) rejected: bool,
    pub(crate) lost: bool,
}

impl Faults {
    pub(crate) fn new(seed: u64, rates: Rates) -> Self {
        Self {
            rng: Mutex::new(fastrand::Rng::with_seed(seed)),
            rates: Mutex::new(rates),
        }
    }

    /// Changes the fault rates.
    pub(crate) fn set(&self, change: impl FnOnce(&mut Rates)) {
        change(&mut self.rates.lock().unwrap());
    }

    /// Returns the outcome of the next call.
    pub(crate) fn next_outcome(&self) -> CallOutcome {
        let rates = *self.rates.lock().unwrap();
        let mut rng = self.rng.lock().unwrap();
        let mut pause = |slow: bool| {
            // Microseconds, so that two things seldom happen at exactly the same time.
            let micros = if slow {
                rng.u64(1..9_000_000)
            } else {
                rng.u64(1..20_000)
            };
            Duration::from_micros(micros)
        };
        let (before, after) = (pause(false), pause(false));
        let slow = rng.u32(0..1000) < rates.slow;
        let before = if slow {
            Duration::from_micros(rng.u64(1..9_000_000))
        } else {
            before
        };
        let rejected = rates.unavailable || rng.u32(0..1000) < rates.rejected;
        let lost = !rejected && rng.u32(0..1000) < rates.lost;
        CallOutcome {
            before,
            after,
            rejected,
            lost,
        }
    }

    /// Runs an operation of git, with a delay and a fault before and after it.
    pub(crate) async fn call<T>(
        &self,
        clock: &dyn Clock,
        apply: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let error = || Error::agent(ErrorCode::BackendError, "git is busy");
        let outcome = self.next_outcome();
        clock.sleep(outcome.before).await;
        if outcome.rejected {
            return Err(error());
        }
        let result = apply();
        clock.sleep(outcome.after).await;
        if outcome.lost { Err(error()) } else { result }
    }

    /// Returns a random number below `end`.
    pub(crate) fn below(&self, end: u32) -> u32 {
        self.rng.lock().unwrap().u32(0..end)
    }
}
