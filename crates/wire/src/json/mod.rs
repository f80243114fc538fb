//! Reading JSON with care: a limit on its depth, and errors that name the place.
//!
//! An object is read by taking the fields we know out of it; what is left is what we do not know and must keep. Derived
//! types would need `flatten` for that, which loses the place of an error and the speed besides.

mod fields;
mod object;
mod path;

pub(crate) use fields::{Fields, as_whole_number, string};
pub(crate) use object::ObjectBuilder;
pub(crate) use path::JsonPath;

use serde_json::Value;

use crate::WireError;

/// How deep JSON may nest; a tool's schema, the deepest thing that agents send, stays under 20.
pub const MAX_DEPTH: usize = 64;

pub(crate) type Result<T> = std::result::Result<T, WireError>;

/// Parses JSON of bounded depth.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value> {
    check_depth(bytes)?;
    serde_json::from_slice(bytes).map_err(|error| WireError::NotJson(error.to_string()))
}

/// Counts brackets before anything is built, because serde_json's own limit of 128 cannot be lowered.
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

/// What follows the string whose opening quote has just been read.
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
