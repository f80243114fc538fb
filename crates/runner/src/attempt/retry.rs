//! Asking a store again that may only be slow or away for a moment.

use std::time::Duration;

use windlass_core::Clock;
use windlass_core::task::{StoreError, StoreResult, Stored};

/// How often a store is asked at most.
const TRIES: u32 = 6;
/// The first pause; each further one is twice as long, and a little longer or shorter by chance.
const PAUSE: Duration = Duration::from_millis(100);

/// Asks until there is an answer, or one that asking again will not change, for a few seconds in all.
///
/// An answer that was lost on its way may mean that the thing was done: only what may be done twice is asked like this.
pub(crate) async fn patiently<'a, T>(
    clock: &dyn Clock,
    ask: impl Fn() -> Stored<'a, T>,
) -> StoreResult<T> {
    let mut tried = 0;
    loop {
        match ask().await {
            Err(error) if is_passing(&error) && tried + 1 < TRIES => {
                tracing::debug!(%error, tried, "asking the store again");
                clock.sleep(pause(clock, tried)).await;
                tried += 1;
            }
            answer => return answer,
        }
    }
}

/// Whether the same question may have another answer in a moment.
pub(crate) fn is_passing(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Timeout { .. } | StoreError::Full(_) | StoreError::Unavailable(_)
    )
}

/// Workers that were refused together should not come back together: the clock's own digits spread them.
pub(crate) fn pause(clock: &dyn Clock, tried: u32) -> Duration {
    let base = PAUSE * (1 << tried.min(5));
    let spread = clock.elapsed().subsec_nanos().wrapping_mul(2_654_435_761) % 512;
    base * (768 + spread) / 1024
}
