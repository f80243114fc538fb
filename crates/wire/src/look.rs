//! Looking into a provider's answer: what is missing or odd there counts as empty, since the answer goes on without it.

use serde_json::Value;

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
    let found = value.pointer(pointer).and_then(crate::json::whole);
    found.unwrap_or_default()
}
