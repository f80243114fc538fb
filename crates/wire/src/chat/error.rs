//! OpenAI's errors, shared by chat completions and responses.

use serde_json::{Value, json};

use crate::{ErrorKind, ModelError};

/// Returns OpenAI's type and code for a kind of error.
fn type_and_code(kind: ErrorKind) -> (&'static str, Option<&'static str>) {
    match kind {
        ErrorKind::InvalidRequest => ("invalid_request_error", None),
        ErrorKind::Authentication => ("invalid_request_error", Some("invalid_api_key")),
        ErrorKind::Permission => ("permission_error", None),
        ErrorKind::NotFound => ("invalid_request_error", Some("model_not_found")),
        ErrorKind::TooLarge => ("invalid_request_error", Some("request_too_large")),
        ErrorKind::ContextOverflow => ("invalid_request_error", Some("context_length_exceeded")),
        ErrorKind::RateLimited => ("rate_limit_error", Some("rate_limit_exceeded")),
        ErrorKind::QuotaExhausted => ("insufficient_quota", Some("insufficient_quota")),
        ErrorKind::Overloaded => ("server_error", Some("server_is_overloaded")),
        ErrorKind::Timeout => ("timeout_error", None),
        ErrorKind::Server | ErrorKind::Protocol | ErrorKind::Interrupted => ("server_error", None),
    }
}

/// Returns the kind for a code or, if it is unknown, for a type.
pub(crate) fn kind(code: &str, type_: &str) -> Option<ErrorKind> {
    Some(match code {
        "invalid_api_key" => ErrorKind::Authentication,
        "model_not_found" => ErrorKind::NotFound,
        "request_too_large" => ErrorKind::TooLarge,
        "context_length_exceeded" => ErrorKind::ContextOverflow,
        "insufficient_quota" | "billing_hard_limit_reached" | "usage_not_included" => {
            ErrorKind::QuotaExhausted
        }
        "rate_limit_exceeded" => ErrorKind::RateLimited,
        "server_is_overloaded" | "slow_down" => ErrorKind::Overloaded,
        "server_error" => ErrorKind::Server,
        "invalid_prompt" => ErrorKind::InvalidRequest,
        _ => match type_ {
            "authentication_error" => ErrorKind::Authentication,
            "permission_error" => ErrorKind::Permission,
            "insufficient_quota" => ErrorKind::QuotaExhausted,
            "rate_limit_error" => ErrorKind::RateLimited,
            "timeout_error" => ErrorKind::Timeout,
            // llama.cpp
            "exceed_context_size_error" => ErrorKind::ContextOverflow,
            _ => return None,
        },
    })
}

/// Parses an error from a body `{"error": {…}}`. Compatible servers also send `{"error": "…"}` or `{"detail":
/// …}`.
pub(crate) fn parse(status: u16, body: &Value) -> ModelError {
    let error = body.get("error").unwrap_or(body);
    let field = |key: &str| error.get(key).and_then(Value::as_str);
    let message = field("message")
        .or(error.as_str())
        .or(field("detail"))
        .map_or_else(|| error.to_string(), str::to_owned);
    let found = kind(
        field("code").unwrap_or_default(),
        field("type").unwrap_or_default(),
    );
    ModelError {
        kind: found.unwrap_or(ErrorKind::from_status(status)),
        status,
        message,
        code: field("code").map(str::to_owned),
        retry_after: None,
    }
}

/// Renders the body of an error.
pub(crate) fn render(error: &ModelError) -> Value {
    let (type_, code) = type_and_code(error.kind);
    let code = error.code.as_deref().or(code);
    json!({ "error": { "message": error.message, "type": type_, "param": null, "code": code } })
}

/// Returns OpenAI's code for an error.
pub(crate) fn code(error: &ModelError) -> &str {
    let (type_, code) = type_and_code(error.kind);
    error.code.as_deref().or(code).unwrap_or(type_)
}
