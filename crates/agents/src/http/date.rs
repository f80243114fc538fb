//! HTTP dates, as in `Retry-After`.

use std::time::{Duration, UNIX_EPOCH};

use windlass_core::Timestamp;

/// Returns the time from `now` until this date, or zero if the date has passed.
pub(super) fn duration_until(text: &str, now: Timestamp) -> Option<Duration> {
    let date = httpdate::parse_http_date(text).ok()?;
    let then = date.duration_since(UNIX_EPOCH).ok()?;
    Some(then.saturating_sub(Duration::from_millis(now.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_formats_are_parsed() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            let wait = duration_until(text, Timestamp(784_111_770_500));
            assert_eq!(wait, Some(Duration::from_millis(6_500)), "{text}");
        }
    }

    #[test]
    fn invalid_date_is_none_and_past_date_is_zero() {
        for bad in [
            "",
            "soon",
            "12",
            "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 99 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(duration_until(bad, Timestamp(0)), None, "{bad}");
        }
        let past = duration_until("Sun, 06 Nov 1994 08:49:37 GMT", Timestamp(u64::MAX));
        assert_eq!(past, Some(Duration::ZERO));
    }
}
