//! Whether a request that failed is sent again, and when.

use std::time::Duration;

use windlass_wire::ModelError;

/// The first wait; each one after it is twice as long.
const INITIAL_BACKOFF: Duration = Duration::from_millis(500);
/// The longest wait of our own choice.
const MAX_BACKOFF: Duration = Duration::from_secs(20);
/// The longest wait that a provider may ask for; beyond it the caller should know.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// How long to wait before the next try; `None` if there is none. `chance` is between 0 and 1.
///
/// A provider that says when is asked then, and never before. Otherwise waits grow, and differ by chance so that
/// clients that failed together do not come back together.
pub(super) fn backoff(
    error: &ModelError,
    tried: u32,
    retries: u32,
    chance: f64,
) -> Option<Duration> {
    if tried >= retries || !error.kind.is_transient() {
        return None;
    }
    if let Some(asked) = error.retry_after {
        let extra = asked.mul_f64(0.1 * chance).min(Duration::from_secs(1));
        return (asked <= MAX_RETRY_AFTER).then_some(asked + extra);
    }
    let whole = INITIAL_BACKOFF
        .saturating_mul(1 << tried.min(16))
        .min(MAX_BACKOFF);
    Some(whole.mul_f64(0.5 + 0.5 * chance))
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
    fn waits_grow_and_end() {
        let busy = error(ErrorKind::Overloaded, None);
        let waits: Vec<_> = (0..4).map(|tried| backoff(&busy, tried, 3, 1.0)).collect();
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(waits, [ms(500), ms(1000), ms(2000), None]);
        assert_eq!(backoff(&busy, 0, 3, 0.0), ms(250));
        assert!(backoff(&busy, 40, 99, 1.0) <= Some(MAX_BACKOFF));
    }

    #[test]
    fn a_provider_is_asked_when_it_says_and_never_before() {
        for chance in [0.0, 0.5, 1.0] {
            let told = backoff(&error(ErrorKind::RateLimited, Some(7)), 0, 2, chance).unwrap();
            assert!(told >= Duration::from_secs(7) && told < Duration::from_secs(9));
        }
        assert_eq!(
            backoff(&error(ErrorKind::RateLimited, Some(3600)), 0, 2, 0.0),
            None
        );
    }

    #[test]
    fn what_stays_wrong_is_not_tried_again() {
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
