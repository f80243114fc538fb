//! Collects the answer of a turn from its events.

use serde_json::Value;

use crate::{AgentEvent, Error, ErrorCode, Result, Usage};

/// The metadata keys of a structured value: Claude uses the first, Qwen the second.
const STRUCTURED_KEYS: [&str; 2] = ["structured_output", "structured_result"];

/// Collects the events of a turn that contain its answer.
#[derive(Debug, Default)]
pub(super) struct ResponseCollector {
    streamed: String,
    end: Option<AgentEvent>,
}

/// The answer of a successful turn.
#[derive(Debug)]
pub(super) struct TurnResponse {
    /// The answer as text.
    pub(super) text: String,
    /// The answer as a value, if the agent returned one.
    pub(super) value: Option<Value>,
    /// The usage of the turn.
    pub(super) usage: Option<Usage>,
}

impl ResponseCollector {
    pub(super) fn on_event(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Text(text) => self.streamed.push_str(text),
            event if event.is_terminal() => self.end = Some(event.clone()),
            _ => {}
        }
    }

    /// Returns the answer, or the agent's failure with its own code.
    pub(super) fn into_response(self) -> Result<TurnResponse> {
        match self.end {
            Some(AgentEvent::Result {
                text,
                usage,
                metadata,
            }) => {
                let text = final_text(&text, &self.streamed).to_owned();
                let structured_values =
                    || STRUCTURED_KEYS.iter().filter_map(|key| metadata.get(key));
                let value = structured_values()
                    .find(|value| !value.is_null() && !is_truncated_in(value))
                    .cloned();
                let incomplete = is_truncated(&text)
                    || text.is_empty() && structured_values().any(is_truncated_in);
                if value.is_none() && incomplete {
                    return Err(Error::agent(
                        ErrorCode::OutputLimit,
                        "the answer is too large: request less data in one answer",
                    ));
                }
                Ok(TurnResponse { text, value, usage })
            }
            Some(AgentEvent::Error { code, message, .. }) => Err(match code {
                ErrorCode::Cancelled => Error::Cancelled,
                code => Error::agent(code, message),
            }),
            Some(AgentEvent::SessionInvalid { reason }) => {
                Err(Error::agent(ErrorCode::SessionOrphaned, reason))
            }
            _ => Err(Error::agent(
                ErrorCode::BackendError,
                "the turn ended without a terminal event",
            )),
        }
    }
}

/// Returns the answer of a turn: the text of the result, or the streamed text if the result is empty or
/// truncated. The streamed text is never truncated.
pub fn final_text<'a>(result: &'a str, streamed: &'a str) -> &'a str {
    let incomplete = result.trim().is_empty() || is_truncated(result);
    if incomplete && !streamed.is_empty() {
        streamed
    } else {
        result
    }
}

fn is_truncated_in(value: &Value) -> bool {
    match value {
        Value::String(text) => is_truncated(text),
        Value::Array(items) => items.iter().any(is_truncated_in),
        Value::Object(fields) => fields.values().any(is_truncated_in),
        _ => false,
    }
}

/// Returns `true` if the text contains the mark of a handle that truncated an oversized event. A value
/// with such a gap may match its schema and still be wrong.
fn is_truncated(text: &str) -> bool {
    let mut marks = text.split("\n[").skip(1);
    marks.any(|after| {
        let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < after.len() && rest.starts_with(" bytes cut]\n")
    })
}
