//! Finds tool calls in a text. Pure functions.

use std::ops::Range;

use serde_json::{Map, Value};

/// The calls in a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FoundCalls {
    /// No call.
    NoCall,
    /// One call.
    One {
        name: String,
        arguments: Map<String, Value>,
        /// Its position in the text, with its fence.
        range: Range<usize>,
    },
    /// More than one call.
    Many,
    /// Text that resembles a call but is invalid.
    Malformed(String),
}

/// Tags around calls that some models are trained to write.
const TAGS: [(&str, &str); 2] = [("<tool_call>", "</tool_call>"), ("<tools>", "</tools>")];
/// The most fences and tags that are checked.
const MAX_CANDIDATES: usize = 256;

/// Searches for calls of these tools: in code fences, in tags, or as the whole text.
pub(super) fn find(text: &str, names: &[String]) -> FoundCalls {
    let mut candidates = fenced(text);
    candidates.extend(tagged(text));
    if candidates.is_empty() {
        let start = text.len() - text.trim_start().len();
        candidates.push((start..text.trim_end().len().max(start), start));
    }
    let mut found = FoundCalls::NoCall;
    for (range, inside) in candidates.into_iter().take(MAX_CANDIDATES) {
        let body = text.get(inside..range.end).unwrap_or_default();
        let body = body.trim_end_matches(['`', '~', '\n', '\r', ' ']);
        found = match (found, parse_candidate(body, names)) {
            (found, CallCandidate::Other) => found,
            (FoundCalls::One { .. } | FoundCalls::Many, CallCandidate::Call(..)) => {
                FoundCalls::Many
            }
            (_, CallCandidate::Call(name, arguments)) => FoundCalls::One {
                name,
                arguments,
                range,
            },
            (FoundCalls::NoCall, CallCandidate::Malformed(problem)) => {
                FoundCalls::Malformed(problem)
            }
            (found, CallCandidate::Malformed(_)) => found,
        };
    }
    found
}

enum CallCandidate {
    Call(String, Map<String, Value>),
    Malformed(String),
    Other,
}

/// Parses one candidate.
fn parse_candidate(body: &str, names: &[String]) -> CallCandidate {
    let body = body.trim_start();
    if !body.starts_with('{') {
        return CallCandidate::Other;
    }
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<Value>();
    let value = match values.next() {
        Some(Ok(Value::Object(object))) => object,
        Some(Err(error)) if looks_like_call(body, names) => {
            return CallCandidate::Malformed(format!("the call is not JSON: {error}"));
        }
        _ => return CallCandidate::Other,
    };
    call(&value, names)
}

/// Interprets an object as a call, in any of the spellings that models use.
fn call(object: &Map<String, Value>, names: &[String]) -> CallCandidate {
    let inner = object.get("function").and_then(Value::as_object);
    let object = inner.unwrap_or(object);
    let name = ["tool", "name", "function", "tool_name"]
        .iter()
        .find_map(|key| object.get(*key)?.as_str());
    let Some(name) = name.filter(|name| names.iter().any(|known| known == name)) else {
        return CallCandidate::Other;
    };
    let arguments = ["arguments", "parameters", "input", "args"]
        .iter()
        .find_map(|key| object.get(*key));
    match arguments {
        Some(Value::Object(arguments)) => CallCandidate::Call(name.to_owned(), arguments.clone()),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Object(arguments)) => CallCandidate::Call(name.to_owned(), arguments),
            _ => CallCandidate::Malformed(format!("the arguments of {name} are not a JSON object")),
        },
        Some(Value::Null) => CallCandidate::Call(name.to_owned(), Map::new()),
        Some(_) => {
            CallCandidate::Malformed(format!("the arguments of {name} are not a JSON object"))
        }
        // Without arguments it is a call only if it has no other key.
        None if object.len() == 1 => CallCandidate::Call(name.to_owned(), Map::new()),
        None => CallCandidate::Other,
    }
}

/// Returns `true` if invalid JSON names one of the tools as a call would.
fn looks_like_call(body: &str, names: &[String]) -> bool {
    let head = &body[..body.floor_char_boundary(200)];
    names
        .iter()
        .any(|name| head.contains(&format!("\"{name}\"")))
}

/// Returns every code fence: its range with the markers, and the start of its body.
fn fenced(text: &str) -> Vec<(Range<usize>, usize)> {
    let mut sections = Vec::new();
    let mut open: Option<(usize, usize, &str)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let end = at + line.len();
        match open {
            None => {
                let mark = ["```", "~~~"]
                    .into_iter()
                    .find(|mark| trimmed.starts_with(mark));
                open = mark.map(|mark| (at, end, mark));
            }
            Some((start, inside, mark)) if trimmed == mark => {
                sections.push((start..end, inside));
                open = None;
            }
            Some(_) => {}
        }
        at = end;
    }
    // A model that stops immediately after its call does not close the fence.
    sections.extend(open.map(|(start, inside, _)| (start..text.len(), inside)));
    sections
}

/// Returns every tagged section: its range with the tags, and the start of its body.
fn tagged(text: &str) -> Vec<(Range<usize>, usize)> {
    let mut sections = Vec::new();
    for (open, close) in TAGS {
        for (start, _) in text.match_indices(open).take(MAX_CANDIDATES) {
            let inside = start + open.len();
            let rest = &text[inside..];
            let end = rest
                .find(close)
                .map_or(text.len(), |at| inside + at + close.len());
            sections.push((start..end, inside));
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn find_in(text: &str) -> FoundCalls {
        find(text, &["fs_read".to_owned(), "shell_run".to_owned()])
    }

    #[track_caller]
    fn assert_call(text: &str, name: &str, arguments: Value) {
        match find_in(text) {
            FoundCalls::One {
                name: found,
                arguments: parsed,
                range,
            } => {
                assert_eq!(
                    (found.as_str(), Value::Object(parsed)),
                    (name, arguments),
                    "{text}"
                );
                assert!(text.get(range).is_some());
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn call_is_found_in_every_format() {
        let args = json!({ "path": "a.txt" });
        for text in [
            "```json\n{\"tool\": \"fs_read\", \"arguments\": {\"path\": \"a.txt\"}}\n```",
            "I will look.\n\n```\n{\"name\": \"fs_read\", \"parameters\": {\"path\": \"a.txt\"}}\n```\nThen I go on.",
            "~~~tool\n{\"name\": \"fs_read\", \"input\": {\"path\": \"a.txt\"}}\n~~~",
            "<tool_call>\n{\"name\": \"fs_read\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>",
            "{\"name\": \"fs_read\", \"arguments\": {\"path\": \"a.txt\"}}",
            "```json\n{\"function\": {\"name\": \"fs_read\", \"arguments\": \"{\\\"path\\\": \\\"a.txt\\\"}\"}}\n```",
            "```json\n{\"tool\": \"fs_read\", \"arguments\": {\"path\": \"a.txt\"}}",
            "```rust\nfn main() {}\n```\n```json\n{\"tool\": \"fs_read\", \"arguments\": {\"path\": \"a.txt\"}}\n```",
        ] {
            assert_call(text, "fs_read", args.clone());
        }
        assert_call(
            "```\n{\"tool\": \"shell_run\"}\n```",
            "shell_run",
            json!({}),
        );
        assert_call(
            "```\n{\"tool\": \"fs_read\", \"arguments\": {\"path\": \"``` é\\n```\"}}\n```",
            "fs_read",
            json!({ "path": "``` é\n```" }),
        );
    }

    #[test]
    fn text_without_call_finds_none() {
        for text in [
            "",
            "Done.",
            "Use {\"tool\": \"fs_read\"} to read.",
            "```json\n{\"name\": \"serde\", \"version\": \"1\"}\n```",
            "```json\n{\"tool\": \"rm_rf\", \"arguments\": {}}\n```",
            "```json\n{\"name\": \"fs_read\", \"description\": \"reads\"}\n```",
            "```json\n[1, 2]\n```",
            "{ not json",
        ] {
            assert_eq!(find_in(text), FoundCalls::NoCall, "{text}");
        }
    }

    #[test]
    fn several_calls_are_many_and_invalid_call_is_malformed() {
        let one = "```json\n{\"tool\": \"fs_read\", \"arguments\": {}}\n```\n";
        assert_eq!(find_in(&one.repeat(2)), FoundCalls::Many);
        assert_eq!(find_in(&one.repeat(1000)), FoundCalls::Many);
        for malformed in [
            "```json\n{\"tool\": \"fs_read\", \"arguments\": {\"path\": \n```",
            "```json\n{\"tool\": \"fs_read\", \"arguments\": [1]}\n```",
            "```json\n{\"tool\": \"fs_read\", \"arguments\": \"x\"}\n```",
        ] {
            assert!(
                matches!(find_in(malformed), FoundCalls::Malformed(_)),
                "{malformed}"
            );
        }
    }
}
