//! Reads from a provider's error that the account must wait, and how long.

use std::time::Duration;

use http::{HeaderMap, HeaderName};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;
use windlass_core::cut_middle;
use windlass_tasks::MAX_LIMIT_REASON_BYTES;
use windlass_wire::{Dialect, ErrorKind, ModelError, parse_wait, wait_in_text};

use crate::clock_time::until_clock_time;

/// How long an account waits if the provider does not say it.
const UNKNOWN_WAIT: Duration = Duration::from_secs(5);
/// How long an agent may wait by itself. For a longer wait its turn must fail soon, so that Windlass can wait, or go on with
/// another agent.
pub(crate) const MAX_AGENT_WAIT: Duration = Duration::from_secs(5);
/// A shorter wait is no wait: agents repeat their calls immediately.
const MIN_WAIT: Duration = Duration::from_secs(1);

/// The header with the end of a plan's limit, in seconds since 1970.
const END_HEADER: &str = "anthropic-ratelimit-unified-reset";
/// Windows of a limit: the part that is left or used, what it has at the limit, and when it starts again.
const WINDOWS: [(&str, &str, &str); 8] = [
    (
        "x-ratelimit-remaining-requests",
        "0",
        "x-ratelimit-reset-requests",
    ),
    (
        "x-ratelimit-remaining-tokens",
        "0",
        "x-ratelimit-reset-tokens",
    ),
    (
        "anthropic-ratelimit-requests-remaining",
        "0",
        "anthropic-ratelimit-requests-reset",
    ),
    (
        "anthropic-ratelimit-tokens-remaining",
        "0",
        "anthropic-ratelimit-tokens-reset",
    ),
    (
        "anthropic-ratelimit-input-tokens-remaining",
        "0",
        "anthropic-ratelimit-input-tokens-reset",
    ),
    (
        "anthropic-ratelimit-output-tokens-remaining",
        "0",
        "anthropic-ratelimit-output-tokens-reset",
    ),
    (
        "x-codex-primary-used-percent",
        "100",
        "x-codex-primary-reset-after-seconds",
    ),
    (
        "x-codex-secondary-used-percent",
        "100",
        "x-codex-secondary-reset-after-seconds",
    ),
];

/// The answer of a provider that the account must wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LimitAnswer {
    pub(crate) wait: Duration,
    /// The provider's sentence.
    pub(crate) reason: String,
}

impl LimitAnswer {
    /// Reads an error response. Returns `None` if it is about something else, or if waiting does not help.
    pub(crate) fn read(
        dialect: Dialect,
        status: u16,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Option<Self> {
        let texts: Vec<(&str, &str)> = headers
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
            .collect();
        let error = dialect.parse_error(status, &texts, body);
        Self::new(&error, told_wait(&error, headers, body, now))
    }

    /// Reads an error of which only the message is known.
    pub(crate) fn from_error(error: &ModelError, now: Timestamp) -> Option<Self> {
        Self::new(error, told_wait(error, &HeaderMap::new(), &[], now))
    }

    fn new(error: &ModelError, told: Option<Duration>) -> Option<Self> {
        let wait = match error.kind {
            ErrorKind::RateLimited | ErrorKind::Overloaded => told.unwrap_or(UNKNOWN_WAIT),
            // Credit does not come back by itself, the part of a plan does.
            ErrorKind::QuotaExhausted => told?,
            _ => return None,
        };
        Some(Self {
            wait: wait.max(MIN_WAIT),
            reason: cut_middle(error.message.clone(), MAX_LIMIT_REASON_BYTES),
        })
    }
}

/// Returns how long the provider says to wait: the longest of what it says in one way.
fn told_wait(
    error: &ModelError,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Option<Duration> {
    let text = |name: &str| headers.get(HeaderName::try_from(name).ok()?)?.to_str().ok();
    let end = text(END_HEADER).and_then(|end| until(end, now));
    let windows = WINDOWS.iter().filter_map(|(part, at_limit, reset)| {
        let is_full = text(part)?.trim() == *at_limit;
        let reset = text(reset).filter(|_| is_full)?;
        until(reset, now).or_else(|| parse_wait(reset))
    });
    let by_headers = end.into_iter().chain(windows).max();
    let date = || httpdate::parse_http_date(text("retry-after")?).ok();
    let by_date = || {
        let seconds = date()?
            .duration_since(std::time::UNIX_EPOCH)
            .ok()?
            .as_secs();
        until(&seconds.to_string(), now)
    };
    in_body(body, now)
        .or(by_headers)
        .or(error.retry_after)
        .or_else(by_date)
        .or_else(|| until_in_text(&error.message, now))
        .or_else(|| wait_in_text(&error.message))
        .or_else(|| until_clock_time(&error.message, now, &TimeZone::system()))
}

/// Returns the wait from the fields of a plan's limit.
fn in_body(body: &[u8], now: Timestamp) -> Option<Duration> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let error = body.get("error").unwrap_or(&body);
    let seconds = error.get("resets_in_seconds").and_then(Value::as_f64);
    let after = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let at = || match error.get("resets_at")? {
        Value::Number(seconds) => until(&seconds.to_string(), now),
        Value::String(text) => until(text, now),
        _ => None,
    };
    after.or_else(at)
}

/// Returns the time until an end that a sentence has behind a bar, as in `usage limit reached|1760000400`.
fn until_in_text(text: &str, now: Timestamp) -> Option<Duration> {
    let (_, end) = text.rsplit_once('|')?;
    until(end, now)
}

/// Returns the time until an end: seconds since 1970, or a date. `None` if it has passed.
fn until(end: &str, now: Timestamp) -> Option<Duration> {
    /// Smaller numbers are no times of our days.
    const FIRST: i64 = 1_000_000_000;
    let end = end.trim();
    let end = match end.parse::<i64>() {
        Ok(seconds) if seconds >= FIRST => Timestamp::from_second(seconds).ok()?,
        Ok(_) => return None,
        Err(_) => end.parse::<Timestamp>().ok()?,
    };
    Duration::try_from(end.duration_since(now)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_760_000_000;

    fn read(status: u16, headers: &[(&str, &str)], body: &str) -> Option<u64> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        let now = Timestamp::from_second(NOW).unwrap();
        let found = LimitAnswer::read(Dialect::Responses, status, &map, body.as_bytes(), now);
        found.map(|found| found.wait.as_secs())
    }

    #[test]
    fn end_of_a_limit_is_read_from_headers() {
        for (headers, wait) in [
            (&[("retry-after", "20")][..], 20),
            (&[("retry-after-ms", "2500")], 2),
            (&[("retry-after", "Thu, 09 Oct 2025 08:54:20 GMT")], 60),
            (&[("anthropic-ratelimit-unified-reset", "1760003600")], 3600),
            (
                &[
                    ("anthropic-ratelimit-tokens-remaining", "0"),
                    ("anthropic-ratelimit-tokens-reset", "2025-10-09T08:54:20Z"),
                    ("retry-after", "5"),
                ],
                60,
            ),
            (
                &[
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-requests", "6m0s"),
                    ("x-ratelimit-remaining-tokens", "7"),
                    ("x-ratelimit-reset-tokens", "1h"),
                ],
                360,
            ),
            (
                &[
                    ("x-codex-primary-used-percent", "100"),
                    ("x-codex-primary-reset-after-seconds", "13873"),
                    ("x-codex-secondary-used-percent", "80"),
                    ("x-codex-secondary-reset-after-seconds", "316705"),
                ],
                13_873,
            ),
            (&[], 5),
            (&[("retry-after", "soon")], 5),
            (&[("anthropic-ratelimit-unified-reset", "1750000000")], 5),
        ] {
            assert_eq!(read(429, headers, "{}"), Some(wait), "{headers:?}");
        }
    }

    #[test]
    fn end_of_a_limit_is_read_from_the_body() {
        for (status, body, wait) in [
            (
                429,
                r#"{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","resets_at":1760003600,"resets_in_seconds":3601}}"#,
                3601,
            ),
            (
                429,
                r#"{"error":{"type":"usage_limit_reached","message":"no","resets_at":"2025-10-09T08:54:20Z"}}"#,
                60,
            ),
            (
                429,
                r#"{"error":{"message":"Claude AI usage limit reached|1760000400"}}"#,
                400,
            ),
            (
                429,
                r#"{"error":{"message":"You've hit your usage limit. Try again in 1 day 2 hours."}}"#,
                93_600,
            ),
            (529, r#"{"error":{"message":"Overloaded"}}"#, 5),
            (503, "", 5),
        ] {
            assert_eq!(read(status, &[], body), Some(wait), "{body}");
        }
    }

    #[test]
    fn p12_long_reason_is_cut() {
        let error = ModelError::new(ErrorKind::RateLimited, "x".repeat(1 << 20));
        let answer = LimitAnswer::from_error(&error, Timestamp::UNIX_EPOCH).unwrap();
        assert!(answer.reason.len() < 2 * MAX_LIMIT_REASON_BYTES);
    }

    #[test]
    fn other_errors_and_missing_credit_are_no_limits() {
        for (status, body) in [
            (400, "{}"),
            (401, "{}"),
            (500, "{}"),
            (
                429,
                r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#,
            ),
            (402, "{}"),
        ] {
            assert_eq!(read(status, &[], body), None, "{status} {body}");
        }
    }
}
