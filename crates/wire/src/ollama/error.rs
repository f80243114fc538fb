//! Ollama's errors, which are a message only.

use serde_json::{Value, json};

use crate::{ErrorKind, ModelError};

/// Parses an error from a body `{"error": "…"}`.
pub(crate) fn parse(status: u16, body: &Value) -> ModelError {
    let error = body.get("error").unwrap_or(body);
    let message = error
        .as_str()
        .map_or_else(|| error.to_string(), str::to_owned);
    let overflow = status == 400 && message.contains("context length");
    ModelError {
        kind: if overflow {
            ErrorKind::ContextOverflow
        } else {
            ErrorKind::from_status(status)
        },
        status,
        message,
        code: None,
        retry_after: None,
    }
}

/// Renders the body of an error, which is also its line inside a stream.
pub(crate) fn render(error: &ModelError) -> Value {
    let overflow = error.kind == ErrorKind::ContextOverflow;
    if overflow && !error.message.contains("context length") {
        let message = format!("input exceeds the context length: {}", error.message);
        return json!({ "error": message });
    }
    json!({ "error": error.message })
}
