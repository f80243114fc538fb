//! Looking into a provider's answer: what is missing or odd there counts as empty, since the answer goes on without it.

use serde_json::Value;

use crate::ModelError;

/// How many calls or open blocks an answer may have; what is more is no answer but an attack.
pub(crate) const MAX_CALLS: usize = 1024;

/// Refuses an answer that holds more of something than it may: what a decoder keeps must not grow with the stream.
pub(crate) fn check_limit(limit: usize, found: usize, what: &str) -> Result<(), ModelError> {
    if found <= limit {
        return Ok(());
    }
    Err(ModelError::protocol(format!("more than {limit} {what}")))
}

/// The string at a key, or nothing.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The list at a key, or nothing.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    let found = value.get(key).and_then(Value::as_array);
    found.map(Vec::as_slice).unwrap_or_default()
}

/// The count at a pointer, or zero.
pub(crate) fn count(value: &Value, pointer: &str) -> u64 {
    let found = value
        .pointer(pointer)
        .and_then(crate::json::as_whole_number);
    found.unwrap_or_default()
}
