//! Retries of store operations after transient errors.

use std::time::Duration;

use windlass_core::{Backoff, Clock};
use windlass_tasks::{StoreError, StoreFuture, StoreResult};

use super::AttemptContext;
use super::lease::Lease;

/// Maximum number of attempts per operation.
const MAX_ATTEMPTS: u32 = 6;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_millis(3200));

/// Repeats an operation until it succeeds or fails with an error that is not transient, for a few seconds in
/// total.
///
/// If the reply was lost, the operation may have been applied, so it must be safe to repeat.
pub(crate) async fn retry_transient<'a, T>(
    clock: &dyn Clock,
    operation: impl Fn() -> StoreFuture<'a, T>,
) -> StoreResult<T> {
    let mut retries = 0;
    loop {
        match operation().await {
            Err(error) if is_transient(&error) && retries + 1 < MAX_ATTEMPTS => {
                tracing::debug!(%error, retries, "retrying a store operation");
                clock.sleep(backoff(clock, retries)).await;
                retries += 1;
            }
            result => return result,
        }
    }
}

impl AttemptContext<'_> {
    /// Retries a store operation while the lease is certainly held.
    pub(super) async fn retry_while_leased<'s, T>(
        &self,
        lease: &Lease<'_>,
        operation: impl Fn() -> StoreFuture<'s, T>,
    ) -> StoreResult<T> {
        let clock = &self.runner.clock;
        let mut retries = 0;
        loop {
            let result = tokio::select! {
                biased;
                result = operation() => result,
                () = clock.sleep(lease.remaining()) => Err(StoreError::Timeout {
                    what: "finishing the attempt",
                    after: self.runner.settings.safe_lease(),
                }),
            };
            match result {
                Err(error) if is_transient(&error) && !lease.remaining().is_zero() => {
                    clock
                        .sleep(backoff(&**clock, retries).min(lease.remaining()))
                        .await;
                    retries += 1;
                }
                result => return result,
            }
        }
    }
}

/// Returns `true` if the same operation may succeed shortly.
pub(crate) fn is_transient(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Timeout { .. } | StoreError::Full(_) | StoreError::Unavailable(_)
    )
}

/// Returns the delay before a retry. The digits of the clock add jitter, so that workers that failed together
/// do not retry together.
pub(crate) fn backoff(clock: &dyn Clock, retries: u32) -> Duration {
    let spread = clock.elapsed().subsec_nanos().wrapping_mul(2_654_435_761) % 512;
    BACKOFF.delay_with_jitter(retries, f64::from(spread) / 512.0)
}
