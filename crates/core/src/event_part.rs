//! The parts of an event that an agent or a tool wrote.

use std::borrow::Cow;

use serde_json::Value;

use crate::AgentEvent;

/// A part of an event, for code that replaces values in events, such as a recorder.
#[derive(Debug)]
pub struct EventPart<'a> {
    /// The name of the stream, if the part is a chunk of a text that continues in later events.
    pub stream: Option<Cow<'static, str>>,
    /// The content.
    pub content: EventContent<'a>,
}

/// The content of a part. The enum is exhaustive, so that code that replaces secrets handles every kind.
#[derive(Debug)]
pub enum EventContent<'a> {
    /// The id of a session, a tool call or a permission request.
    Id(&'a mut String),
    /// A text.
    Text(&'a mut String),
    /// A JSON value.
    Value(&'a mut Value),
}

impl AgentEvent {
    /// Returns everything in the event that an agent or a tool wrote, in a fixed order.
    pub fn parts_mut(&mut self) -> Vec<EventPart<'_>> {
        match self {
            Self::Text(chunk) => vec![text(chunk).in_stream("text")],
            Self::Thought(chunk) => vec![text(chunk).in_stream("thought")],
            Self::Plan { entries } => entries.iter_mut().map(|e| text(&mut e.step)).collect(),
            Self::ToolStart {
                id: tool,
                name,
                input,
            } => vec![id(tool), text(name), value(input)],
            Self::ToolProgress { id: tool, update } => {
                let stream = format!("progress {tool}");
                vec![id(tool), value(update).in_stream(stream)]
            }
            Self::ToolEnd {
                id: tool,
                name,
                output,
                ..
            } => vec![id(tool), text(name), value(output)],
            Self::PermissionRequest {
                id: request,
                tool,
                input,
                options,
            } => {
                let mut parts = vec![id(request), text(tool), value(input)];
                for option in options {
                    parts.extend([text(&mut option.id), text(&mut option.label)]);
                }
                parts
            }
            Self::Result {
                text: answer,
                usage,
                metadata,
            } => {
                let extra = usage.as_mut().and_then(|usage| usage.extra.as_mut());
                let mut parts = vec![text(answer)];
                parts.extend(extra.into_iter().chain([metadata]).map(value));
                parts
            }
            Self::Error { message, .. } => vec![text(message)],
            Self::SessionInvalid { reason } => vec![text(reason)],
            Self::SessionChanged { new_session_id } => vec![id(new_session_id)],
            Self::Custom { kind, payload } => {
                let stream = format!("custom {kind}");
                vec![text(kind), value(payload).in_stream(stream)]
            }
        }
    }
}

impl EventPart<'_> {
    fn in_stream(self, name: impl Into<Cow<'static, str>>) -> Self {
        let stream = Some(name.into());
        Self { stream, ..self }
    }
}

fn id(id: &mut String) -> EventPart<'_> {
    part(EventContent::Id(id))
}

fn text(text: &mut String) -> EventPart<'_> {
    part(EventContent::Text(text))
}

fn value(value: &mut Value) -> EventPart<'_> {
    part(EventContent::Value(value))
}

fn part(content: EventContent<'_>) -> EventPart<'_> {
    let stream = None;
    EventPart { stream, content }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{ErrorCode, PermissionKind, PermissionOption, PlanEntry, PlanStatus, Usage};

    const MARK: &str = "mark";

    /// Returns one event of each kind. Every text in it is the mark.
    fn events() -> Vec<AgentEvent> {
        let mark = || MARK.to_owned();
        let (id, name) = (mark, mark);
        vec![
            AgentEvent::Text(mark()),
            AgentEvent::Thought(mark()),
            AgentEvent::Plan {
                entries: vec![PlanEntry {
                    step: mark(),
                    status: PlanStatus::Pending,
                }],
            },
            AgentEvent::ToolStart {
                id: id(),
                name: name(),
                input: json!([MARK]),
            },
            AgentEvent::ToolProgress {
                id: id(),
                update: json!(MARK),
            },
            AgentEvent::ToolEnd {
                id: id(),
                name: name(),
                output: json!({ "a": MARK }),
                success: true,
                duration_ms: 1,
            },
            AgentEvent::PermissionRequest {
                id: id(),
                tool: mark(),
                input: json!(MARK),
                options: vec![PermissionOption {
                    id: id(),
                    kind: PermissionKind::AllowOnce,
                    label: mark(),
                }],
            },
            AgentEvent::Result {
                text: mark(),
                usage: Some(Usage {
                    extra: Some(json!(MARK)),
                    ..Usage::default()
                }),
                metadata: json!(MARK),
            },
            AgentEvent::Error {
                code: ErrorCode::Unknown,
                message: mark(),
                recoverable: false,
            },
            AgentEvent::SessionInvalid { reason: mark() },
            AgentEvent::SessionChanged {
                new_session_id: id(),
            },
            AgentEvent::Custom {
                kind: mark(),
                payload: json!(MARK),
            },
        ]
    }

    #[test]
    fn the_parts_of_an_event_are_all_of_its_texts() {
        for mut event in events() {
            for part in event.parts_mut() {
                match part.content {
                    EventContent::Id(text) | EventContent::Text(text) => text.clear(),
                    EventContent::Value(value) => *value = Value::Null,
                }
            }
            let json = serde_json::to_string(&event).unwrap();
            assert!(!json.contains(MARK), "{json}");
        }
    }
}
