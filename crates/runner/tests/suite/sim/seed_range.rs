//! The seeds of simulated runs.

use std::panic::{RefUnwindSafe, catch_unwind, resume_unwind};

/// Number of simulated runs in a suite.
const SEEDS: u64 = 1000;

/// Runs one of the `parts` of a suite: the seeds are the same in every run. `WINDLASS_SEEDS` sets the number of all parts;
/// `WINDLASS_SEED` selects a single seed. `test` is the name of the test.
pub(super) fn run_part(
    (part, parts): (u64, u64),
    test: &str,
    simulate: impl Fn(u64) + RefUnwindSafe,
) {
    let size = number("WINDLASS_SEEDS").unwrap_or(SEEDS).div_ceil(parts);
    let seeds = match number("WINDLASS_SEED") {
        Some(seed) => seed..seed + 1,
        None => part * size..(part + 1) * size,
    };
    for seed in seeds {
        if let Err(panic) = catch_unwind(|| simulate(seed)) {
            eprintln!(
                "seed {seed} failed; repeat it with\n    \
                 WINDLASS_SEED={seed} cargo nextest run -p windlass-runner {test}"
            );
            resume_unwind(panic);
        }
    }
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}
