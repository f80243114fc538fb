//! Google's errors.

use std::time::Duration;

use serde_json::{Value, json};

use crate::lenient::list;
use crate::{ErrorKind, ModelError};

/// The phrase by which Google's clients recognize a context overflow.
const OVERFLOW: &str = "input token count";

/// Returns Google's status name for a kind of error.
fn status_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidRequest | ErrorKind::TooLarge | ErrorKind::ContextOverflow => {
            "INVALID_ARGUMENT"
        }
        ErrorKind::Authentication => "UNAUTHENTICATED",
        ErrorKind::Permission => "PERMISSION_DENIED",
        ErrorKind::NotFound => "NOT_FOUND",
        ErrorKind::RateLimited | ErrorKind::QuotaExhausted => "RESOURCE_EXHAUSTED",
        ErrorKind::Overloaded => "UNAVAILABLE",
        ErrorKind::Timeout => "DEADLINE_EXCEEDED",
        ErrorKind::Server | ErrorKind::Protocol | ErrorKind::Interrupted => "INTERNAL",
    }
}

fn kind(status: u16, error: &Value, message: &str) -> ErrorKind {
    let has = |key: &str, value: &str| {
        let text = |detail: &Value| detail.get(key).map(Value::to_string).unwrap_or_default();
        list(error, "details")
            .iter()
            .any(|detail| text(detail).contains(value))
    };
    match error
        .get("status")
        .and_then(Value::as_str)
        .unwrap_or_default()
    {
        "INVALID_ARGUMENT" if status == 413 => ErrorKind::TooLarge,
        "INVALID_ARGUMENT" if has("reason", "API_KEY_INVALID") => ErrorKind::Authentication,
        "INVALID_ARGUMENT" if message.contains(OVERFLOW) => ErrorKind::ContextOverflow,
        "INVALID_ARGUMENT" | "FAILED_PRECONDITION" | "OUT_OF_RANGE" => ErrorKind::InvalidRequest,
        "UNAUTHENTICATED" => ErrorKind::Authentication,
        "PERMISSION_DENIED" => ErrorKind::Permission,
        "NOT_FOUND" => ErrorKind::NotFound,
        "RESOURCE_EXHAUSTED" if has("violations", "PerDay") => ErrorKind::QuotaExhausted,
        "RESOURCE_EXHAUSTED" => ErrorKind::RateLimited,
        "UNAVAILABLE" => ErrorKind::Overloaded,
        "DEADLINE_EXCEEDED" => ErrorKind::Timeout,
        "INTERNAL" => ErrorKind::Server,
        _ => ErrorKind::from_status(status),
    }
}

/// Parses an error from a body `{"error": {…}}`, which a stream without `alt=sse` puts into a list.
pub(crate) fn parse(status: u16, body: &Value) -> ModelError {
    let body = body.get(0).unwrap_or(body);
    let error = body.get("error").unwrap_or(body);
    let field = |key: &str| error.get(key).and_then(Value::as_str);
    let message = field("message").map_or_else(|| error.to_string(), str::to_owned);
    ModelError {
        kind: kind(status, error, &message),
        status,
        message,
        code: field("status").map(str::to_owned),
        retry_after: retry_delay(error),
    }
}

/// Returns the wait time in the details, such as `"7s"` or `"1.5s"`.
fn retry_delay(error: &Value) -> Option<Duration> {
    let delays = list(error, "details")
        .iter()
        .filter_map(|detail| detail.get("retryDelay"));
    let seconds = delays.filter_map(Value::as_str).next()?.strip_suffix('s')?;
    Duration::try_from_secs_f64(seconds.parse().ok()?).ok()
}

/// Renders the body of an error, which is also its frame inside a stream.
pub(crate) fn render(error: &ModelError) -> Value {
    let mut details = Vec::new();
    if error.kind == ErrorKind::QuotaExhausted {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{ "quotaId": "GenerateRequestsPerDayPerProjectPerModel" }],
        }));
    }
    if let Some(after) = error.retry_after {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": format!("{}s", after.as_secs_f64()),
        }));
    }
    let overflow = error.kind == ErrorKind::ContextOverflow && !error.message.contains(OVERFLOW);
    let message = if overflow {
        format!("the {OVERFLOW} exceeds the maximum: {}", error.message)
    } else {
        error.message.clone()
    };
    let code = if error.status == 0 {
        error.kind.status()
    } else {
        error.status
    };
    let error = crate::json::ObjectBuilder::new()
        .set("code", code)
        .set("message", message)
        .set("status", status_name(error.kind))
        .set_list("details", details);
    json!({ "error": error.build() })
}
