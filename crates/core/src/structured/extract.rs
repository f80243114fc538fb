//! Finding the one JSON value in an answer.
//!
//! An answer may stand in a code fence, between prose, and with trailing commas; nothing else is mended. Where it
//! is not clear which value is meant, there is none: guessing would turn an example or a torn-off part into the
//! answer.

use serde_json::Value;

use super::error::{StructuredErrorKind, excerpt};
use super::{brackets, json};

/// How many brackets without an end are looked at. Each may cost a look at the whole text, so they are few.
const MAX_UNCLOSED_BRACKETS: usize = 64;

/// The one value in the text. Arrays in the midst of prose count only where `arrays` says so: most of them are
/// references such as `[1]`.
pub(super) fn extract(text: &str, arrays: bool) -> Result<Value, StructuredErrorKind> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if let Ok(value) = json::parse(strip_fence(text)) {
        return Ok(value);
    }
    match candidates(text, arrays)?.as_slice() {
        [] => Err(StructuredErrorKind::NoJson {
            answer: excerpt(text),
        }),
        [only] => read(only),
        [first, second, ..] => Err(StructuredErrorKind::Ambiguous {
            first: excerpt(first),
            second: excerpt(second),
        }),
    }
}

/// What begins like JSON, in order, at most two: up to the matching closer, or to the end where there is none.
fn candidates(text: &str, arrays: bool) -> Result<Vec<&str>, StructuredErrorKind> {
    let mut found = Vec::new();
    let mut strays = 0;
    let mut rest = text;
    while let Some(at) = rest.find(['{', '[']) {
        rest = &rest[at..];
        let begins = begins_json(rest, arrays);
        if !begins && rest.starts_with('[') {
            rest = &rest[1..];
            continue;
        }
        match brackets::balanced_len(rest) {
            Some(end) => {
                if begins {
                    found.push(&rest[..end]);
                }
                // What is inside a region belongs to it: the parts of a thing that is not JSON are no answers.
                rest = &rest[end..];
            }
            None if begins => {
                found.push(rest);
                break;
            }
            None => {
                strays += 1;
                rest = &rest[1..];
            }
        }
        if found.len() == 2 {
            break;
        }
        if strays > MAX_UNCLOSED_BRACKETS {
            return Err(StructuredErrorKind::Malformed {
                problem: format!("more than {MAX_UNCLOSED_BRACKETS} brackets are never closed"),
                answer: excerpt(text),
            });
        }
    }
    Ok(found)
}

/// Whether what follows the bracket at the beginning is what follows it in JSON.
fn begins_json(text: &str, arrays: bool) -> bool {
    let inside = text[1..].trim_start();
    if text.starts_with('{') {
        return inside.starts_with(['"', '}']);
    }
    let is_value = || {
        inside.starts_with(['"', '[', ']', '-'])
            || inside.starts_with(|c: char| c.is_ascii_digit())
            || ["true", "false", "null"]
                .iter()
                .any(|word| inside.starts_with(word))
    };
    // A list of objects is more than a reference, and none of its objects is the answer.
    inside.starts_with('{') || arrays && is_value()
}

fn read(candidate: &str) -> Result<Value, StructuredErrorKind> {
    let parsed = json::parse(candidate).or_else(|error| {
        let mended = brackets::without_trailing_commas(candidate);
        mended.map_or(Err(error), |mended| json::parse(&mended))
    });
    parsed.map_err(|error| StructuredErrorKind::Malformed {
        problem: error.to_string(),
        answer: excerpt(candidate),
    })
}

/// What stands in the code fence that is the whole text, or else the text.
fn strip_fence(text: &str) -> &str {
    let inside = |fence: &str| {
        let body = text.strip_prefix(fence)?.strip_suffix(fence)?;
        let (_language, body) = body.split_once('\n')?;
        (!body.contains(fence)).then_some(body)
    };
    inside("```").or_else(|| inside("~~~")).unwrap_or(text)
}
