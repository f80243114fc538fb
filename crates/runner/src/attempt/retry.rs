//! Asking a store again that may only be slow or away for a moment.

use std::time::Duration;

use windlass_core::Clock;
use windlass_core::task::{StoreError, StoreFuture, StoreResult};

/// How often a store is asked at most.
const MAX_ATTEMPTS: u32 = 6;
/// The first pause; each further one is twice as long, and a little longer or shorter by chance.
const INITIAL_BACKOFF: Duration = Duration::from_millis(100);

/// Asks until there is an answer, or one that asking again will not change, for a few seconds in all.
///
/// An answer that was lost on its way may mean that the thing was done: only what may be done twice is asked like this.
pub(crate) async fn retry_transient<'a, T>(
    clock: &dyn Clock,
    ask: impl Fn() -> StoreFuture<'a, T>,
) -> StoreResult<T> {
    let mut tried = 0;
    loop {
        match ask().await {
            Err(error) if is_transient(&error) && tried + 1 < MAX_ATTEMPTS => {
                tracing::debug!(%error, tried, "asking the store again");
                clock.sleep(backoff(clock, tried)).await;
                tried += 1;
            }
            answer => return answer,
        }
    }
}

/// Whether the same question may have another answer in a moment.
pub(crate) fn is_transient(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Timeout { .. } | StoreError::Full(_) | StoreError::Unavailable(_)
    )
}

/// Workers that were refused together should not come back together: the clock's own digits spread them.
pub(crate) fn backoff(clock: &dyn Clock, tried: u32) -> Duration {
    let base = INITIAL_BACKOFF * (1 << tried.min(5));
    let spread = clock.elapsed().subsec_nanos().wrapping_mul(2_654_435_761) % 512;
    base * (768 + spread) / 1024
}
