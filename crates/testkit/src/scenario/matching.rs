//! Matches expected events with the actual ones.
//!
//! The rules, which `docs/scenarios.md` explains with examples:
//!
//! - Expected events are matched in the order they are written; events between them are ignored.
//! - `Text` matches the text since the last matched event, joined from its chunks.
//! - `Any { count }` matches the next `count` events of any type.
//! - `Result` and `Error` match only the end of the turn. If neither is present, the turn must end
//!   with a result.
//! - A matcher after `Result` or `Error` cannot match, because no event follows the end.

use windlass_core::AgentEvent;

use super::{EventMatcher, tools};

/// The position of each matched event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MatchResult {
    /// The position of the event that matched each matcher, in the order of the matchers, up to the
    /// first that did not match.
    pub(super) positions: Vec<usize>,
    /// What is missing, if anything.
    pub(super) missing: Option<Mismatch>,
}

/// What is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mismatch {
    /// The matcher with this index did not match.
    Matcher(usize),
    /// All matched, but the turn did not end with a result.
    Result,
}

/// Finds the expected events among the actual ones.
pub(super) fn find(expected: &[EventMatcher], actual: &[AgentEvent]) -> MatchResult {
    let mut positions = Vec::new();
    let mut next = 0;
    for (number, matcher) in expected.iter().enumerate() {
        match position(matcher, &actual[next..]) {
            Some(offset) => {
                positions.push(next + offset);
                next += offset + 1;
            }
            None => {
                return MatchResult {
                    positions,
                    missing: Some(Mismatch::Matcher(number)),
                };
            }
        }
    }
    let expects_end = expected.iter().any(EventMatcher::is_terminal);
    let has_result = matches!(actual.last(), Some(AgentEvent::Result { .. }));
    MatchResult {
        positions,
        missing: (!expects_end && !has_result).then_some(Mismatch::Result),
    }
}

/// Returns the position of the event that matches.
fn position(matcher: &EventMatcher, actual: &[AgentEvent]) -> Option<usize> {
    match matcher {
        EventMatcher::Text { contains } => text_position(contains, actual),
        EventMatcher::Any { count: 0 } => None,
        EventMatcher::Any { count } => (actual.len() >= *count).then(|| count - 1),
        _ => actual.iter().position(|event| matcher.matches(event)),
    }
}

/// Returns the position of the event that completes the text.
fn text_position(expected: &str, actual: &[AgentEvent]) -> Option<usize> {
    let mut text = String::new();
    for (position, event) in actual.iter().enumerate() {
        if let AgentEvent::Text(chunk) = event {
            text.push_str(chunk);
            if text.contains(expected) {
                return Some(position);
            }
        }
    }
    None
}

impl EventMatcher {
    fn is_terminal(&self) -> bool {
        matches!(self, Self::Result { .. } | Self::Error { .. })
    }

    /// Returns `true` if this event matches.
    pub(super) fn matches(&self, event: &AgentEvent) -> bool {
        match (self, event) {
            (Self::Text { contains }, AgentEvent::Text(text)) => text.contains(contains),
            (Self::Result { contains }, AgentEvent::Result { text, .. }) => text.contains(contains),
            (
                Self::ToolStart {
                    name,
                    input_contains,
                },
                AgentEvent::ToolStart {
                    name: tool, input, ..
                },
            ) => {
                let contains = |pattern| tools::contains(input, pattern);
                tools::matches_tool(name, tool) && input_contains.as_ref().is_none_or(contains)
            }
            (
                Self::ToolEnd { name, success },
                AgentEvent::ToolEnd {
                    name: tool,
                    success: actual,
                    ..
                },
            ) => tools::matches_tool(name, tool) && success == actual,
            (Self::Error { code }, AgentEvent::Error { code: actual, .. }) => {
                code.is_none_or(|code| code == *actual)
            }
            (Self::Error { code }, AgentEvent::SessionInvalid { .. }) => code.is_none(),
            (Self::Custom { kind }, AgentEvent::Custom { kind: actual, .. }) => kind == actual,
            (Self::Any { count: 1 }, _) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windlass_core::ErrorCode;

    use super::*;

    fn matchers(json: Value) -> Vec<EventMatcher> {
        serde_json::from_value(json).unwrap()
    }

    fn actual() -> Vec<AgentEvent> {
        vec![
            AgentEvent::Text("I will ".into()),
            AgentEvent::Thought("hm".into()),
            AgentEvent::Text("look.".into()),
            AgentEvent::ToolStart {
                id: "1".into(),
                name: "Read".into(),
                input: json!({"path": "a"}),
            },
            AgentEvent::ToolEnd {
                id: "1".into(),
                name: "Read".into(),
                output: Value::Null,
                success: true,
                duration_ms: 0,
            },
            AgentEvent::Text("Done.".into()),
            AgentEvent::result("Done."),
        ]
    }

    #[track_caller]
    fn check(expected: Value, positions: &[usize], missing: Option<Mismatch>) {
        let result = find(&matchers(expected), &actual());
        assert_eq!(
            (result.positions.as_slice(), result.missing),
            (positions, missing)
        );
    }

    #[test]
    fn order_counts_and_gaps_are_ignored() {
        check(json!([]), &[], None);
        check(
            json!([{"type": "ToolStart", "name": "Read"}, {"type": "Result", "contains": "Done"}]),
            &[3, 6],
            None,
        );
        check(
            json!([{"type": "Text", "contains": "Done"}, {"type": "ToolStart", "name": "Read"}]),
            &[5],
            Some(Mismatch::Matcher(1)),
        );
        check(
            json!([{"type": "ToolEnd", "name": "Read", "success": false}]),
            &[],
            Some(Mismatch::Matcher(0)),
        );
    }

    #[test]
    fn text_is_joined_from_its_chunks() {
        check(
            json!([{"type": "Text", "contains": "will look"}]),
            &[2],
            None,
        );
        check(
            json!([{"type": "Text", "contains": "look.Done"}]),
            &[5],
            None,
        );
        check(
            json!([{"type": "ToolEnd", "name": "Read", "success": true}, {"type": "Text", "contains": "look"}]),
            &[4],
            Some(Mismatch::Matcher(1)),
        );
    }

    #[test]
    fn any_matches_exactly_count_events() {
        check(
            json!([{"type": "Any", "count": 3}, {"type": "ToolStart", "name": "Read"}]),
            &[2, 3],
            None,
        );
        check(
            json!([{"type": "Any", "count": 4}, {"type": "ToolStart", "name": "Read"}]),
            &[3],
            Some(Mismatch::Matcher(1)),
        );
        check(json!([{"type": "Any", "count": 7}]), &[6], None);
        check(
            json!([{"type": "Any", "count": 8}]),
            &[],
            Some(Mismatch::Matcher(0)),
        );
    }

    #[test]
    fn turn_without_end_matcher_must_succeed() {
        let error = AgentEvent::Error {
            code: ErrorCode::Timeout,
            message: String::new(),
            recoverable: false,
        };
        let ended =
            |expected: Value| find(&matchers(expected), std::slice::from_ref(&error)).missing;
        assert_eq!(ended(json!([])), Some(Mismatch::Result));
        assert_eq!(ended(json!([{"type": "Error", "code": "Timeout"}])), None);
        assert_eq!(ended(json!([{"type": "Error"}])), None);
        assert_eq!(
            ended(json!([{"type": "Error", "code": "AuthFailed"}])),
            Some(Mismatch::Matcher(0))
        );
        let gone = [AgentEvent::SessionInvalid {
            reason: String::new(),
        }];
        assert_eq!(
            find(&matchers(json!([{"type": "Error"}])), &gone).missing,
            None
        );
    }
}
