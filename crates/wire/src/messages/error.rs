//! Anthropic's errors.

use serde_json::{Value, json};

use crate::{ErrorKind, ModelError};

/// Returns Anthropic's type for a kind of error.
fn error_type(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidRequest | ErrorKind::ContextOverflow => "invalid_request_error",
        ErrorKind::Authentication => "authentication_error",
        ErrorKind::Permission => "permission_error",
        ErrorKind::NotFound => "not_found_error",
        ErrorKind::TooLarge => "request_too_large",
        ErrorKind::RateLimited => "rate_limit_error",
        ErrorKind::QuotaExhausted => "billing_error",
        ErrorKind::Overloaded => "overloaded_error",
        ErrorKind::Timeout => "timeout_error",
        ErrorKind::Server | ErrorKind::Protocol | ErrorKind::Interrupted => "api_error",
    }
}

/// Returns the kind for a type. Two errors differ from others of their type only in the message.
fn kind(type_: &str, message: &str) -> Option<ErrorKind> {
    Some(match type_ {
        "invalid_request_error" if message.contains("prompt is too long") => {
            ErrorKind::ContextOverflow
        }
        "invalid_request_error" if message.contains("credit balance") => ErrorKind::QuotaExhausted,
        "invalid_request_error" => ErrorKind::InvalidRequest,
        "authentication_error" => ErrorKind::Authentication,
        "permission_error" => ErrorKind::Permission,
        "not_found_error" => ErrorKind::NotFound,
        "request_too_large" => ErrorKind::TooLarge,
        "rate_limit_error" => ErrorKind::RateLimited,
        "billing_error" => ErrorKind::QuotaExhausted,
        "overloaded_error" => ErrorKind::Overloaded,
        "timeout_error" => ErrorKind::Timeout,
        "api_error" => ErrorKind::Server,
        _ => return None,
    })
}

/// Parses an error from a body `{"type": "error", "error": {…}}`.
pub(crate) fn parse(status: u16, body: &Value) -> ModelError {
    let error = body.get("error").unwrap_or(body);
    let field = |key: &str| error.get(key).and_then(Value::as_str);
    let message = field("message").map_or_else(|| error.to_string(), str::to_owned);
    let found = kind(field("type").unwrap_or_default(), &message);
    ModelError {
        kind: found.unwrap_or(ErrorKind::from_status(status)),
        status,
        message,
        code: field("type").map(str::to_owned),
        retry_after: None,
    }
}

/// Renders the body of an error, which is also its event inside a stream.
pub(crate) fn render(error: &ModelError) -> Value {
    let overflow = error.kind == ErrorKind::ContextOverflow;
    let message = if overflow && !error.message.contains("prompt is too long") {
        // Clients recognize a context overflow by this phrase alone.
        format!("prompt is too long: {}", error.message)
    } else {
        error.message.clone()
    };
    json!({ "type": "error", "error": { "type": error_type(error.kind), "message": message } })
}
