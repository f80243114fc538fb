//! Extracts the one JSON value from an answer.
//!
//! The value may be in a code fence, between prose, and have trailing commas; nothing else is repaired. If
//! it is unclear which value is meant, extraction fails: guessing could return an example or a fragment
//! as the answer.

use serde_json::Value;

use super::error::{StructuredErrorKind, excerpt};
use super::{brackets, json};

/// The maximum number of unclosed brackets. Each one may require a scan of the whole text.
const MAX_UNCLOSED_BRACKETS: usize = 64;

/// Returns the only value in the text. Arrays between prose count only if `arrays` is `true`, because most
/// of them are references such as `[1]`.
pub(super) fn extract(text: &str, arrays: bool) -> Result<Value, StructuredErrorKind> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if let Ok(value) = json::parse(strip_fence(text)) {
        return Ok(value);
    }
    match candidates(text, arrays)?.as_slice() {
        [] => Err(StructuredErrorKind::NoJson {
            answer: excerpt(text),
        }),
        [only] => parse_repaired(only),
        [first, second, ..] => Err(StructuredErrorKind::Ambiguous {
            first: excerpt(first),
            second: excerpt(second),
        }),
    }
}

/// Returns at most two candidates in order. Each one starts like JSON and extends to its closing bracket,
/// or to the end of the text.
fn candidates(text: &str, arrays: bool) -> Result<Vec<&str>, StructuredErrorKind> {
    let mut found = Vec::new();
    let mut unclosed = 0;
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
                // Skip the content of a region: a part of an invalid value is not an answer.
                rest = &rest[end..];
            }
            None if begins => {
                found.push(rest);
                break;
            }
            None => {
                unclosed += 1;
                rest = &rest[1..];
            }
        }
        if found.len() == 2 {
            break;
        }
        if unclosed > MAX_UNCLOSED_BRACKETS {
            return Err(StructuredErrorKind::Malformed {
                problem: format!("more than {MAX_UNCLOSED_BRACKETS} brackets are never closed"),
                answer: excerpt(text),
            });
        }
    }
    Ok(found)
}

/// Returns `true` if the text after the opening bracket is what follows one in JSON.
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
                .any(|literal| inside.starts_with(literal))
    };
    // A list of objects is not a reference, and none of its objects alone is the answer.
    inside.starts_with('{') || arrays && is_value()
}

fn parse_repaired(candidate: &str) -> Result<Value, StructuredErrorKind> {
    let parsed = json::parse(candidate).or_else(|error| {
        let repaired = brackets::without_trailing_commas(candidate);
        repaired.map_or(Err(error), |repaired| json::parse(&repaired))
    });
    parsed.map_err(|error| StructuredErrorKind::Malformed {
        problem: error.to_string(),
        answer: excerpt(candidate),
    })
}

/// Returns the content of the code fence that spans the whole text, or the text itself.
fn strip_fence(text: &str) -> &str {
    let inside = |fence: &str| {
        let body = text.strip_prefix(fence)?.strip_suffix(fence)?;
        let (_language, body) = body.split_once('\n')?;
        (!body.contains(fence)).then_some(body)
    };
    inside("```").or_else(|| inside("~~~")).unwrap_or(text)
}
