//! Expected events held against those that were seen.
//!
//! The rules, which `docs/scenarios.md` gives by example:
//!
//! - Expected events are found in the order they are written; events between them do not matter.
//! - `Text` looks at the text since the last event that was found, put together from its pieces.
//! - `Any { count }` takes the next `count` events, whatever they are.
//! - `Result` and `Error` look at the end of the turn alone. Where neither is written, the turn must end in a result.
//! - Whatever is written after `Result` or `Error` cannot be found: nothing comes after the end.

use windlass_core::AgentEvent;

use super::{EventMatcher, tools};

/// Where each expected event was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MatchResult {
    /// The place of the event that met each matcher, in the order of the matchers; it ends at the first that was not met.
    pub(super) places: Vec<usize>,
    /// What is missing, if anything is.
    pub(super) missing: Option<Mismatch>,
}

/// What is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mismatch {
    /// The matcher in this place was not met.
    Matcher(usize),
    /// All were met, but the turn did not end in a result.
    Result,
}

/// Finds expected events among those seen.
pub(super) fn find(expected: &[EventMatcher], seen: &[AgentEvent]) -> MatchResult {
    let mut places = Vec::new();
    let mut next = 0;
    for (number, matcher) in expected.iter().enumerate() {
        match position(matcher, &seen[next..]) {
            Some(offset) => {
                places.push(next + offset);
                next += offset + 1;
            }
            None => {
                return MatchResult {
                    places,
                    missing: Some(Mismatch::Matcher(number)),
                };
            }
        }
    }
    let says_the_end = expected.iter().any(EventMatcher::is_about_the_end);
    let ends_well = matches!(seen.last(), Some(AgentEvent::Result { .. }));
    MatchResult {
        places,
        missing: (!says_the_end && !ends_well).then_some(Mismatch::Result),
    }
}

/// The place, among these events, of the one that meets the matcher.
fn position(matcher: &EventMatcher, seen: &[AgentEvent]) -> Option<usize> {
    match matcher {
        EventMatcher::Text { contains } => text_position(contains, seen),
        EventMatcher::Any { count: 0 } => None,
        EventMatcher::Any { count } => (seen.len() >= *count).then(|| count - 1),
        _ => seen.iter().position(|event| matcher.matches(event)),
    }
}

/// The place of the piece with which the text is complete.
fn text_position(wanted: &str, seen: &[AgentEvent]) -> Option<usize> {
    let mut text = String::new();
    for (place, event) in seen.iter().enumerate() {
        if let AgentEvent::Text(piece) = event {
            text.push_str(piece);
            if text.contains(wanted) {
                return Some(place);
            }
        }
    }
    None
}

impl EventMatcher {
    fn is_about_the_end(&self) -> bool {
        matches!(self, Self::Result { .. } | Self::Error { .. })
    }

    /// Whether this one event is what was expected.
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
                let fits = |pattern| tools::contains(input, pattern);
                tools::matches_tool(name, tool) && input_contains.as_ref().is_none_or(fits)
            }
            (
                Self::ToolEnd { name, success },
                AgentEvent::ToolEnd {
                    name: tool,
                    success: did,
                    ..
                },
            ) => tools::matches_tool(name, tool) && success == did,
            (Self::Error { code }, AgentEvent::Error { code: is, .. }) => {
                code.is_none_or(|code| code == *is)
            }
            (Self::Error { code }, AgentEvent::SessionInvalid { .. }) => code.is_none(),
            (Self::Custom { kind }, AgentEvent::Custom { kind: is, .. }) => kind == is,
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

    fn seen() -> Vec<AgentEvent> {
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
    fn check(expected: Value, places: &[usize], missing: Option<Mismatch>) {
        let found = find(&matchers(expected), &seen());
        assert_eq!((found.places.as_slice(), found.missing), (places, missing));
    }

    #[test]
    fn order_counts_and_gaps_do_not() {
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
    fn text_is_put_together_from_its_pieces() {
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
    fn any_takes_exactly_so_many() {
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
    fn a_turn_that_says_nothing_of_its_end_must_end_well() {
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
