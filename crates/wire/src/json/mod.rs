//! JSON parsing with a depth limit and errors that name the path.
//!
//! An object is parsed by removing the known fields; the remaining ones are unknown and must not be lost. Derived
//! types would need `flatten` for that, which loses the path of an error and is slower.

mod fields;
mod object;
mod path;

pub(crate) use fields::{Fields, as_whole_number, string};
pub(crate) use object::ObjectBuilder;
pub(crate) use path::JsonPath;

use serde_json::Value;

use crate::WireError;

/// The maximum nesting depth of JSON. A tool's schema, the deepest JSON that agents send, stays under 20.
pub const MAX_DEPTH: usize = 64;

pub(crate) type Result<T> = std::result::Result<T, WireError>;

/// Parses JSON with a depth limit.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value> {
    check_depth(bytes)?;
    serde_json::from_slice(bytes).map_err(|error| WireError::NotJson(error.to_string()))
}

/// Counts brackets before parsing, because serde_json's own limit of 128 cannot be lowered.
fn check_depth(bytes: &[u8]) -> Result<()> {
    let mut depth = 0_usize;
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(WireError::TooDeep { limit: MAX_DEPTH });
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => rest = skip_string(rest.as_slice()).iter(),
            _ => {}
        }
    }
    Ok(())
}

/// Returns the bytes after the string. Its opening quote was read last.
fn skip_string(mut bytes: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memchr2(b'"', b'\\', bytes) {
        let step = if bytes[at] == b'"' { 1 } else { 2 };
        bytes = bytes.get(at + step..).unwrap_or_default();
        if step == 1 {
            return bytes;
        }
    }
    &[]
}
