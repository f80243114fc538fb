//! What goes wrong, decided by one seed.

use std::sync::Mutex;
use std::time::Duration;

/// How likely faults are, and the chance that decides.
#[derive(Debug)]
pub(crate) struct Faults {
    dice: Mutex<fastrand::Rng>,
    rates: Mutex<Rates>,
}

/// In a thousand calls.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rates {
    /// Fail and change nothing.
    pub(crate) refused: u32,
    /// Are done, and the answer is lost.
    pub(crate) lost: u32,
    /// Take long.
    pub(crate) slow: u32,
    /// The store is away.
    pub(crate) away: bool,
}

/// What will become of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fate {
    pub(crate) before: Duration,
    pub(crate) after: Duration,
    pub(crate) refused: bool,
    pub(crate) lost: bool,
}

impl Faults {
    pub(crate) fn new(seed: u64, rates: Rates) -> Self {
        Self {
            dice: Mutex::new(fastrand::Rng::with_seed(seed)),
            rates: Mutex::new(rates),
        }
    }

    /// Changes what goes wrong from now on.
    pub(crate) fn set(&self, change: impl FnOnce(&mut Rates)) {
        change(&mut self.rates.lock().unwrap());
    }

    /// What will become of the next call.
    pub(crate) fn fate(&self) -> Fate {
        let rates = *self.rates.lock().unwrap();
        let mut dice = self.dice.lock().unwrap();
        let mut pause = |slow: bool| {
            // Odd fractions, so that two things seldom happen at the very same time.
            let micros = if slow {
                dice.u64(1..9_000_000)
            } else {
                dice.u64(1..20_000)
            };
            Duration::from_micros(micros)
        };
        let (before, after) = (pause(false), pause(false));
        let slow = dice.u32(0..1000) < rates.slow;
        let before = if slow {
            Duration::from_micros(dice.u64(1..9_000_000))
        } else {
            before
        };
        let refused = rates.away || dice.u32(0..1000) < rates.refused;
        let lost = !refused && dice.u32(0..1000) < rates.lost;
        Fate {
            before,
            after,
            refused,
            lost,
        }
    }

    /// A number below this one.
    pub(crate) fn below(&self, end: u32) -> u32 {
        self.dice.lock().unwrap().u32(0..end)
    }
}
