//! Finding a call in a text. Pure: from text to what is in it.

use std::ops::Range;

use serde_json::{Map, Value};

/// What a text holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FoundCalls {
    /// No call.
    NoCall,
    /// One call.
    One {
        name: String,
        arguments: Map<String, Value>,
        /// Where it stands in the text, with its fence.
        place: Range<usize>,
    },
    /// More calls than one.
    Many,
    /// Something that was meant to be a call.
    Malformed(String),
}

/// Tags in which models that were trained on them put calls.
const TAGS: [(&str, &str); 2] = [("<tool_call>", "</tool_call>"), ("<tools>", "</tools>")];
/// How many fences and tags are looked at.
const MAX_CANDIDATES: usize = 256;

/// Looks for calls of these tools: in code fences, in tags, or as the whole text.
pub(super) fn find(text: &str, names: &[String]) -> FoundCalls {
    let mut places = fenced(text);
    places.extend(tagged(text));
    if places.is_empty() {
        let start = text.len() - text.trim_start().len();
        places.push((start..text.trim_end().len().max(start), start));
    }
    let mut found = FoundCalls::NoCall;
    for (place, inside) in places.into_iter().take(MAX_CANDIDATES) {
        let body = text.get(inside..place.end).unwrap_or_default();
        let body = body.trim_end_matches(['`', '~', '\n', '\r', ' ']);
        found = match (found, parse_candidate(body, names)) {
            (found, Candidate::Other) => found,
            (FoundCalls::One { .. } | FoundCalls::Many, Candidate::Call(..)) => FoundCalls::Many,
            (_, Candidate::Call(name, arguments)) => FoundCalls::One {
                name,
                arguments,
                place,
            },
            (FoundCalls::NoCall, Candidate::Malformed(problem)) => FoundCalls::Malformed(problem),
            (found, Candidate::Malformed(_)) => found,
        };
    }
    found
}

enum Candidate {
    Call(String, Map<String, Value>),
    Malformed(String),
    Other,
}

/// What stands in one place.
fn parse_candidate(body: &str, names: &[String]) -> Candidate {
    let body = body.trim_start();
    if !body.starts_with('{') {
        return Candidate::Other;
    }
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<Value>();
    let value = match values.next() {
        Some(Ok(Value::Object(object))) => object,
        Some(Err(error)) if looks_like_call(body, names) => {
            return Candidate::Malformed(format!("the call is not JSON: {error}"));
        }
        _ => return Candidate::Other,
    };
    call(&value, names)
}

/// The call that an object is, in any of the spellings that models have for one.
fn call(object: &Map<String, Value>, names: &[String]) -> Candidate {
    let inner = object.get("function").and_then(Value::as_object);
    let object = inner.unwrap_or(object);
    let name = ["tool", "name", "function", "tool_name"]
        .iter()
        .find_map(|key| object.get(*key)?.as_str());
    let Some(name) = name.filter(|name| names.iter().any(|known| known == name)) else {
        return Candidate::Other;
    };
    let arguments = ["arguments", "parameters", "input", "args"]
        .iter()
        .find_map(|key| object.get(*key));
    match arguments {
        Some(Value::Object(arguments)) => Candidate::Call(name.to_owned(), arguments.clone()),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Object(arguments)) => Candidate::Call(name.to_owned(), arguments),
            _ => Candidate::Malformed(format!("the arguments of {name} are not a JSON object")),
        },
        Some(Value::Null) => Candidate::Call(name.to_owned(), Map::new()),
        Some(_) => Candidate::Malformed(format!("the arguments of {name} are not a JSON object")),
        // Without arguments it is a call only if it is nothing else.
        None if object.len() == 1 => Candidate::Call(name.to_owned(), Map::new()),
        None => Candidate::Other,
    }
}

/// Whether broken JSON names one of the tools as a call would.
fn looks_like_call(body: &str, names: &[String]) -> bool {
    let head = &body[..body.floor_char_boundary(200)];
    names
        .iter()
        .any(|name| head.contains(&format!("\"{name}\"")))
}

/// Every code fence: where it stands with its marks, and where its body begins.
fn fenced(text: &str) -> Vec<(Range<usize>, usize)> {
    let mut places = Vec::new();
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
                places.push((start..end, inside));
                open = None;
            }
            Some(_) => {}
        }
        at = end;
    }
    // A model that stops right after its call leaves the fence open.
    places.extend(open.map(|(start, inside, _)| (start..text.len(), inside)));
    places
}

fn tagged(text: &str) -> Vec<(Range<usize>, usize)> {
    let mut places = Vec::new();
    for (open, close) in TAGS {
        for (start, _) in text.match_indices(open).take(MAX_CANDIDATES) {
            let inside = start + open.len();
            let rest = &text[inside..];
            let end = rest
                .find(close)
                .map_or(text.len(), |at| inside + at + close.len());
            places.push((start..end, inside));
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn look_in(text: &str) -> FoundCalls {
        find(text, &["fs_read".to_owned(), "shell_run".to_owned()])
    }

    #[track_caller]
    fn calls(text: &str, name: &str, arguments: Value) {
        match look_in(text) {
            FoundCalls::One {
                name: found,
                arguments: given,
                place,
            } => {
                assert_eq!(
                    (found.as_str(), Value::Object(given)),
                    (name, arguments),
                    "{text}"
                );
                assert!(text.get(place).is_some());
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_call_is_found_in_every_dress() {
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
            calls(text, "fs_read", args.clone());
        }
        calls(
            "```\n{\"tool\": \"shell_run\"}\n```",
            "shell_run",
            json!({}),
        );
        calls(
            "```\n{\"tool\": \"fs_read\", \"arguments\": {\"path\": \"``` é\\n```\"}}\n```",
            "fs_read",
            json!({ "path": "``` é\n```" }),
        );
    }

    #[test]
    fn what_is_no_call_is_none() {
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
            assert_eq!(look_in(text), FoundCalls::NoCall, "{text}");
        }
    }

    #[test]
    fn two_calls_are_several_and_a_torn_one_is_broken() {
        let one = "```json\n{\"tool\": \"fs_read\", \"arguments\": {}}\n```\n";
        assert_eq!(look_in(&one.repeat(2)), FoundCalls::Many);
        assert_eq!(look_in(&one.repeat(1000)), FoundCalls::Many);
        for torn in [
            "```json\n{\"tool\": \"fs_read\", \"arguments\": {\"path\": \n```",
            "```json\n{\"tool\": \"fs_read\", \"arguments\": [1]}\n```",
            "```json\n{\"tool\": \"fs_read\", \"arguments\": \"x\"}\n```",
        ] {
            assert!(matches!(look_in(torn), FoundCalls::Malformed(_)), "{torn}");
        }
    }
}
