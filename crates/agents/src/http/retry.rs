//! Decides whether and when a failed request is retried.

use std::time::Duration;

use windlass_core::Backoff;
use windlass_wire::ModelError;

/// The delays if the provider does not send one.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(20));
/// The longest `Retry-After` that is waited for; a longer one is returned to the caller.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// Returns the delay before the next attempt, or `None` if the request is not retried. `jitter` is between 0 and 1.
///
/// If the provider sent `Retry-After`, the request is never retried earlier. Otherwise the delays grow, with jitter so
/// that clients that failed together do not retry together.
pub(super) fn backoff(
    error: &ModelError,
    attempts: u32,
    retries: u32,
    jitter: f64,
) -> Option<Duration> {
    if attempts >= retries || !error.kind.is_transient() {
        return None;
    }
    if let Some(retry_after) = error.retry_after {
        let extra = retry_after
            .mul_f64(0.1 * jitter)
            .min(Duration::from_secs(1));
        return (retry_after <= MAX_RETRY_AFTER).then_some(retry_after + extra);
    }
    Some(BACKOFF.delay_with_jitter(attempts, jitter))
}

#[cfg(test)]
mod tests {
    use windlass_wire::ErrorKind;

    use super::*;

    fn error(kind: ErrorKind, after: Option<u64>) -> ModelError {
        let error = ModelError::new(kind, "no");
        match after {
            Some(seconds) => error.with_retry_after(Duration::from_secs(seconds)),
            None => error,
        }
    }

    #[test]
    fn backoff_doubles_until_retries_are_exhausted() {
        let busy = error(ErrorKind::Overloaded, None);
        let waits: Vec<_> = (0..4)
            .map(|attempts| backoff(&busy, attempts, 3, 1.0))
            .collect();
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(waits, [ms(500), ms(1000), ms(2000), None]);
        assert_eq!(backoff(&busy, 0, 3, 0.0), ms(250));
        assert!(backoff(&busy, 40, 99, 1.0) <= Some(Duration::from_secs(20)));
    }

    #[test]
    fn retry_after_is_the_minimum_delay() {
        for jitter in [0.0, 0.5, 1.0] {
            let delay = backoff(&error(ErrorKind::RateLimited, Some(7)), 0, 2, jitter).unwrap();
            assert!(delay >= Duration::from_secs(7) && delay < Duration::from_secs(9));
        }
        assert_eq!(
            backoff(&error(ErrorKind::RateLimited, Some(3600)), 0, 2, 0.0),
            None
        );
    }

    #[test]
    fn permanent_errors_are_not_retried() {
        for kind in [
            ErrorKind::Authentication,
            ErrorKind::InvalidRequest,
            ErrorKind::QuotaExhausted,
            ErrorKind::ContextOverflow,
            ErrorKind::NotFound,
        ] {
            assert_eq!(backoff(&error(kind, None), 0, 2, 0.0), None, "{kind:?}");
        }
    }
}
