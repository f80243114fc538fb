//! Lenient reading of a provider's response: missing or malformed fields count as empty, because the response
//! is usable without them.

use serde_json::Value;

use crate::ModelError;

/// The maximum number of calls or open blocks in a response. More is treated as an attack.
pub(crate) const MAX_CALLS: usize = 1024;

/// Rejects a response that has more of something than allowed: a decoder's state must not grow with the
/// stream.
pub(crate) fn check_limit(limit: usize, found: usize, what: &str) -> Result<(), ModelError> {
    if found <= limit {
        return Ok(());
    }
    Err(ModelError::protocol(format!("more than {limit} {what}")))
}

/// Returns the string at a key, or an empty one.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the list at a key, or an empty one.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    let found = value.get(key).and_then(Value::as_array);
    found.map(Vec::as_slice).unwrap_or_default()
}

/// Returns the count at a pointer, or zero.
pub(crate) fn count(value: &Value, pointer: &str) -> u64 {
    let found = value
        .pointer(pointer)
        .and_then(crate::json::as_whole_number);
    found.unwrap_or_default()
}
