//! What went wrong, in the words and the status of a model API.

use std::time::Duration;

use axum::response::Response;
use windlass_core::{Error, ErrorCode, structured};
use windlass_wire::{Dialect, ErrorKind, ModelError, Route};

use super::ModelLookupError;
use crate::response_writer;

/// How long to wait where nobody said.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(10);
/// The longest that anybody is told to wait.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 3600);

/// An error in the dialect of the surface that this path belongs to.
pub fn error_response(path: &str, error: &ModelError) -> Response {
    response_writer::error_response(dialect_of(path), error)
}

/// The dialect of a path; OpenAI's is what most clients of an unknown one read.
pub(super) fn dialect_of(path: &str) -> Dialect {
    let path = path.split('?').next().unwrap_or(path);
    match Route::parse(path) {
        Some(route) => route.dialect,
        None if path.contains("/messages") => Dialect::Messages,
        None if path.starts_with("/api/") => Dialect::Ollama,
        None => Dialect::Chat,
    }
}

impl From<&ModelLookupError> for ModelError {
    fn from(error: &ModelLookupError) -> Self {
        let kind = match error {
            ModelLookupError::Unknown { .. } => ErrorKind::NotFound,
            ModelLookupError::Unavailable { .. } => ErrorKind::Overloaded,
        };
        Self::new(kind, error.to_string())
    }
}

/// The end of an agent's turn.
pub(super) fn from_turn(agent: &str, code: ErrorCode, message: &str) -> ModelError {
    let message = format!("{agent}: {message}");
    match code {
        ErrorCode::Timeout => timeout(message),
        ErrorCode::RateLimited => {
            let wait = parse_wait(&message).unwrap_or(DEFAULT_RETRY_AFTER);
            ModelError::new(ErrorKind::RateLimited, message).with_retry_after(wait)
        }
        ErrorCode::BudgetExceeded => ModelError::new(ErrorKind::QuotaExhausted, message),
        // The agent's own key is no business of the caller's, whose key was good.
        ErrorCode::AuthFailed => ModelError::new(ErrorKind::Overloaded, message),
        ErrorCode::PermissionDenied => ModelError::new(ErrorKind::Permission, message),
        ErrorCode::Cancelled => ModelError::new(ErrorKind::Overloaded, message),
        _ => upstream(message),
    }
}

/// A turn that could not begin.
pub(super) fn from_error(agent: &str, error: &Error) -> ModelError {
    let message = || format!("{agent}: {error}");
    match error {
        Error::Unavailable { .. } | Error::Config { .. } => {
            ModelError::new(ErrorKind::Overloaded, message())
        }
        Error::Unsupported { .. } | Error::InvalidInput(_) => {
            ModelError::new(ErrorKind::InvalidRequest, message())
        }
        Error::Agent {
            code: ErrorCode::RateLimited,
            retry_after: Some(after),
            ..
        } => ModelError::new(ErrorKind::RateLimited, message()).with_retry_after(*after),
        error => from_turn(agent, error.code(), &error.to_string()),
    }
}

/// An answer that could not be made to fit its schema.
pub(super) fn from_structured(agent: &str, error: &structured::Error) -> ModelError {
    match &*error.fault {
        structured::StructuredErrorKind::Agent(inner) => from_error(agent, inner),
        _ => upstream(format!("{agent}: {error}")),
    }
}

/// What a model's provider said, as our caller should hear it: whose key is wrong is not the caller's.
pub(super) fn from_model(agent: &str, mut error: ModelError) -> ModelError {
    let message = format!("{agent}: {}", error.message);
    match error.kind {
        ErrorKind::Timeout => return timeout(message),
        ErrorKind::Authentication | ErrorKind::Permission => {
            return ModelError::new(ErrorKind::Overloaded, message);
        }
        ErrorKind::NotFound | ErrorKind::Server | ErrorKind::Protocol | ErrorKind::Interrupted => {
            return upstream(message);
        }
        ErrorKind::RateLimited | ErrorKind::QuotaExhausted => {
            error.retry_after = error.retry_after.or(Some(DEFAULT_RETRY_AFTER));
        }
        _ => {}
    }
    ModelError {
        message,
        status: error.kind.status(),
        ..error
    }
}

/// Too many at once.
pub(super) fn too_many_requests(limit: usize) -> ModelError {
    let message =
        format!("{limit} requests are being answered, and no more at once: try again in a second");
    ModelError::new(ErrorKind::RateLimited, message).with_retry_after(Duration::from_secs(1))
}

/// It took too long. The status says so of the request, not of a gateway.
pub(super) fn timeout(message: String) -> ModelError {
    ModelError {
        status: 408,
        ..ModelError::new(ErrorKind::Timeout, message)
    }
}

/// Whoever stands behind us failed.
pub(super) fn upstream(message: String) -> ModelError {
    ModelError {
        status: 502,
        ..ModelError::new(ErrorKind::Server, message)
    }
}

/// The waiting time in an agent's own words: `asked to wait 7 s`, `try again in 3 minutes`.
fn parse_wait(message: &str) -> Option<Duration> {
    let message = message.to_ascii_lowercase();
    let marks = [
        "asked to wait ",
        "try again in ",
        "retry after ",
        "resets in ",
    ];
    let rest = marks
        .iter()
        .find_map(|mark| message.split_once(mark).map(|(_, rest)| rest))?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    let number: f64 = rest[..end].trim_end_matches('.').parse().ok()?;
    let unit = rest[end..].trim_start();
    let seconds = match () {
        () if unit.starts_with("ms") || unit.starts_with("milli") => number / 1000.0,
        () if unit.starts_with('m') => number * 60.0,
        () if unit.starts_with('h') => number * 3600.0,
        () => number,
    };
    let wait = Duration::try_from_secs_f64(seconds).ok()?;
    Some(wait.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_times_are_found_in_words() {
        let check = |text: &str, seconds: Option<u64>| {
            assert_eq!(parse_wait(text), seconds.map(Duration::from_secs), "{text}");
        };
        check("slow down (asked to wait 7 s)", Some(7));
        check(
            "You've hit your usage limit. Try again in 7 minutes.",
            Some(420),
        );
        check("try again in 2 h", Some(7200));
        check("try again in a while", None);
        check("try again in 99999999999999 hours", Some(24 * 3600));
        check("no", None);
    }

    #[test]
    fn statuses_are_those_of_the_caller() {
        let table = [
            (ErrorCode::Timeout, 408),
            (ErrorCode::RateLimited, 429),
            (ErrorCode::BudgetExceeded, 429),
            (ErrorCode::AuthFailed, 503),
            (ErrorCode::PermissionDenied, 403),
            (ErrorCode::BackendError, 502),
            (ErrorCode::OutputLimit, 502),
            (ErrorCode::Unknown, 502),
        ];
        for (code, status) in table {
            let error = from_turn("codex", code, "said so");
            let reply = Dialect::Chat.render_error(&error);
            assert_eq!(reply.status, status, "{code}");
            assert!(error.message.contains("codex: said so"));
        }
        let limited = from_turn("codex", ErrorCode::RateLimited, "no");
        assert_eq!(limited.retry_after, Some(DEFAULT_RETRY_AFTER));
    }

    #[test]
    fn each_path_has_its_dialect() {
        for (path, dialect) in [
            ("/v1/chat/completions", Dialect::Chat),
            ("/v1/responses", Dialect::Responses),
            ("/v1/messages?beta=true", Dialect::Messages),
            ("/v1/messages/count_tokens", Dialect::Messages),
            ("/v1/models", Dialect::Chat),
            ("/api/chat", Dialect::Ollama),
            ("/api/tags", Dialect::Ollama),
            ("/elsewhere", Dialect::Chat),
        ] {
            assert_eq!(dialect_of(path), dialect, "{path}");
        }
    }
}
