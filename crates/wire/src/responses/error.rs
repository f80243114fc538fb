//! OpenAI's errors, and how a stream of responses reports one.

use serde_json::{Value, json};

use crate::chat::error::{code, kind};
pub(crate) use crate::chat::error::{parse, render};
use crate::{ErrorKind, ModelError};

/// Renders the error of a failed response.
pub(super) fn in_response(error: &ModelError) -> Value {
    json!({ "code": code(error), "message": error.message })
}

/// Parses the error of `response.failed` or of an `error` event, in either of its two formats.
pub(super) fn from_event(event: &Value) -> ModelError {
    let error = event.pointer("/response/error").or(event.get("error"));
    let error = error.filter(|error| error.is_object()).unwrap_or(event);
    let field = |key: &str| error.get(key).and_then(Value::as_str);
    let code_and_type = (
        field("code").unwrap_or_default(),
        field("type").unwrap_or_default(),
    );
    let found = match code_and_type {
        ("invalid_request_error", _) | (_, "invalid_request_error") => {
            kind(code_and_type.0, code_and_type.1).unwrap_or(ErrorKind::InvalidRequest)
        }
        (code, type_) => kind(code, type_)
            .or(kind("", code))
            .unwrap_or(ErrorKind::Server),
    };
    ModelError {
        code: field("code").map(str::to_owned),
        ..ModelError::new(found, field("message").unwrap_or("the provider failed"))
    }
}
