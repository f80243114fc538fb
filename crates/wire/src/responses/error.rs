//! OpenAI's failures once more, and how a stream of responses tells one.

use serde_json::{Value, json};

use crate::chat::error::{code, kind};
pub(crate) use crate::chat::error::{parse, render};
use crate::{ErrorKind, ModelError};

/// The error of a response that failed.
pub(super) fn in_response(error: &ModelError) -> Value {
    json!({ "code": code(error), "message": error.message })
}

/// The failure that `response.failed` or an `error` event tells, in either of the two forms it comes in.
pub(super) fn from_event(event: &Value) -> ModelError {
    let error = event.pointer("/response/error").or(event.get("error"));
    let error = error.filter(|error| error.is_object()).unwrap_or(event);
    let word = |key: &str| error.get(key).and_then(Value::as_str);
    let words = (
        word("code").unwrap_or_default(),
        word("type").unwrap_or_default(),
    );
    let found = match words {
        ("invalid_request_error", _) | (_, "invalid_request_error") => {
            kind(words.0, words.1).unwrap_or(ErrorKind::InvalidRequest)
        }
        (code, type_) => kind(code, type_)
            .or(kind("", code))
            .unwrap_or(ErrorKind::Server),
    };
    ModelError {
        code: word("code").map(str::to_owned),
        ..ModelError::new(found, word("message").unwrap_or("the provider failed"))
    }
}
