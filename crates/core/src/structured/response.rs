//! What an agent answered in one turn, put together from its events.

use serde_json::Value;

use crate::{AgentEvent, Error, ErrorCode, Result, Usage};

/// Where agents put a value that they made themselves: Claude the first, Qwen the second.
const STRUCTURED_KEYS: [&str; 2] = ["structured_output", "structured_result"];

/// The events of a turn that matter to its answer.
#[derive(Debug, Default)]
pub(super) struct ResponseCollector {
    written: String,
    end: Option<AgentEvent>,
}

/// The answer of a turn that ended well.
#[derive(Debug)]
pub(super) struct TurnResponse {
    /// The answer as text.
    pub(super) text: String,
    /// The answer as a value, where the agent gave one.
    pub(super) value: Option<Value>,
    /// What the turn consumed.
    pub(super) usage: Option<Usage>,
}

impl ResponseCollector {
    pub(super) fn on_event(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Text(text) => self.written.push_str(text),
            event if event.is_terminal() => self.end = Some(event.clone()),
            _ => {}
        }
    }

    /// The answer, or the agent's failure under its own code.
    pub(super) fn into_response(self) -> Result<TurnResponse> {
        match self.end {
            Some(AgentEvent::Result {
                text,
                usage,
                metadata,
            }) => {
                let text = final_text(&text, &self.written).to_owned();
                let given = || STRUCTURED_KEYS.iter().filter_map(|key| metadata.get(key));
                let value = given()
                    .find(|value| !value.is_null() && !is_truncated_in(value))
                    .cloned();
                let is_cut = is_truncated(&text) || text.is_empty() && given().any(is_truncated_in);
                if value.is_none() && is_cut {
                    return Err(Error::agent(
                        ErrorCode::OutputLimit,
                        "the answer is too large to be kept whole: ask for less at once",
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
                "the turn ended without saying how it ended",
            )),
        }
    }
}

/// The answer of a turn: the result's text, unless it is empty or was cut; then what was written piece by piece, which
/// is never cut.
pub fn final_text<'a>(result: &'a str, written: &'a str) -> &'a str {
    let is_lacking = result.trim().is_empty() || is_truncated(result);
    if is_lacking && !written.is_empty() {
        written
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

/// Whether the text bears the mark that a handle leaves where it cuts an event that is too large. A value with
/// such a hole in it may fit its schema and is wrong all the same.
fn is_truncated(text: &str) -> bool {
    let mut marks = text.split("\n[").skip(1);
    marks.any(|after| {
        let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < after.len() && rest.starts_with(" bytes cut]\n")
    })
}
