//! Errors in the format and with the status of a model API.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use windlass_core::{Error, ErrorCode, structured};
use windlass_wire::{Dialect, ErrorKind, ModelError, Route};

use crate::ModelLookupError;

/// The wait time if none is known.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(10);
/// The maximum wait time that is sent to a client.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 3600);

/// The code of a request that fails because the provider refused the server's own key. Clients map the status 401 to
/// their error for a wrong key and do not retry it; the message names the key's owner.
const KEY_REFUSED: &str = "invalid_api_key";

/// Renders an error in the dialect of the API that the path belongs to.
pub fn error_response(path: &str, error: &ModelError) -> Response {
    render(dialect_of(path), error)
}

/// Renders an error in a dialect.
pub(crate) fn render(dialect: Dialect, error: &ModelError) -> Response {
    dialect.render_error(error).map(Body::from)
}

/// Returns the dialect of a path. For an unknown path it is OpenAI's, which most clients can read.
pub(crate) fn dialect_of(path: &str) -> Dialect {
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

/// Converts the error of an agent's turn.
pub(crate) fn from_turn(agent: &str, code: ErrorCode, message: &str) -> ModelError {
    let message = format!("{agent}: {message}");
    match code {
        ErrorCode::Timeout => timeout(message),
        ErrorCode::RateLimited => {
            let wait = parse_wait(&message).unwrap_or(DEFAULT_RETRY_AFTER);
            ModelError::new(ErrorKind::RateLimited, message).with_retry_after(wait)
        }
        ErrorCode::BudgetExceeded => ModelError::new(ErrorKind::QuotaExhausted, message),
        ErrorCode::AuthFailed => key_refused(&message),
        ErrorCode::PermissionDenied => ModelError::new(ErrorKind::Permission, message),
        ErrorCode::Cancelled => ModelError::new(ErrorKind::Overloaded, message),
        _ => upstream(message),
    }
}

/// Converts the error of a turn that could not start.
pub(crate) fn from_error(agent: &str, error: &Error) -> ModelError {
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

/// Converts the error of an answer that could not be made to match its schema.
pub(crate) fn from_structured(agent: &str, error: &structured::Error) -> ModelError {
    match &*error.kind {
        structured::StructuredErrorKind::Agent(inner) => from_error(agent, inner),
        _ => upstream(format!("{agent}: {error}")),
    }
}

/// Converts a provider's error for the caller. An invalid key of the provider is not the caller's key.
pub(crate) fn from_model(agent: &str, mut error: ModelError) -> ModelError {
    let message = format!("{agent}: {}", error.message);
    match error.kind {
        ErrorKind::Timeout => return timeout(message),
        ErrorKind::Authentication | ErrorKind::Permission => {
            return key_refused(&message);
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

/// Creates the error for a key or sign-in of the server that its provider refused.
fn key_refused(message: &str) -> ModelError {
    let message = format!("{message} (the provider refused the server's key, not yours)");
    ModelError {
        code: Some(KEY_REFUSED.to_owned()),
        ..ModelError::new(ErrorKind::Authentication, message)
    }
}

/// Creates the error for too many concurrent requests.
pub(crate) fn too_many_requests(limit: usize) -> ModelError {
    let message = format!("too many concurrent requests (limit {limit}): retry after 1 s");
    ModelError::new(ErrorKind::RateLimited, message).with_retry_after(Duration::from_secs(1))
}

/// Creates a timeout error. Its status is 408, because the request timed out, not a gateway.
pub(crate) fn timeout(message: String) -> ModelError {
    ModelError {
        status: 408,
        ..ModelError::new(ErrorKind::Timeout, message)
    }
}

/// Creates the error for a failed agent or provider.
pub(crate) fn upstream(message: String) -> ModelError {
    ModelError {
        status: 502,
        ..ModelError::new(ErrorKind::Server, message)
    }
}

/// Returns the wait time in an agent's message.
fn parse_wait(message: &str) -> Option<Duration> {
    windlass_wire::wait_in_text(message).map(|wait| wait.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_time_is_parsed_from_message() {
        let check = |text: &str, seconds: Option<u64>| {
            assert_eq!(parse_wait(text), seconds.map(Duration::from_secs), "{text}");
        };
        check("try again in 2 h", Some(7200));
        check("try again in a while", None);
        check("try again in 99999999999999 hours", Some(24 * 3600));
        check("no", None);
    }

    #[test]
    fn turn_errors_have_the_caller_facing_status() {
        let table = [
            (ErrorCode::Timeout, 408),
            (ErrorCode::RateLimited, 429),
            (ErrorCode::BudgetExceeded, 429),
            (ErrorCode::AuthFailed, 401),
            (ErrorCode::PermissionDenied, 403),
            (ErrorCode::BackendError, 502),
            (ErrorCode::OutputLimit, 502),
            (ErrorCode::Unknown, 502),
        ];
        for (code, status) in table {
            let error = from_turn("codex", code, "test message");
            let response = Dialect::Chat.render_error(&error);
            assert_eq!(response.status(), status, "{code}");
            assert!(error.message.contains("codex: test message"));
        }
        let upstream = ModelError::new(ErrorKind::Authentication, "bad key");
        let refused = from_model("model", upstream);
        assert_eq!(
            (refused.status, refused.code.as_deref()),
            (401, Some("invalid_api_key"))
        );
        assert!(!refused.kind.is_transient());
        for dialect in Dialect::ALL {
            assert_eq!(dialect.render_error(&refused).status(), 401);
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
