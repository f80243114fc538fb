//! The events of a turn, and checks of them.

use std::borrow::Cow;

use serde_json::Value;
use windlass_core::{AgentEvent, Envelope, ErrorCode, Usage};

use super::check::{CaseStop, CheckResult, ensure};

/// The events of a complete turn.
#[derive(Debug)]
pub(super) struct TurnLog {
    events: Vec<Envelope>,
}

/// Kinds of events with which a handle marks a repair.
const REPAIR_MARKERS: [&str; 2] = ["unpaired_tool_progress", "repeated_tool_end"];
const NO_TERMINAL_EVENT: &str = "without a terminal event";

impl TurnLog {
    pub(super) fn new(events: Vec<Envelope>) -> Self {
        Self { events }
    }

    pub(super) fn events(&self) -> impl Iterator<Item = &AgentEvent> {
        self.events.iter().map(|envelope| &envelope.event)
    }

    fn last(&self) -> Option<&AgentEvent> {
        self.events.last().map(|envelope| &envelope.event)
    }

    /// Returns the answer of a successful turn, with its usage.
    pub(super) fn result(&self) -> CheckResult<(&str, Option<&Usage>)> {
        match self.last() {
            Some(AgentEvent::Result { text, usage, .. }) => Ok((text, usage.as_ref())),
            other => Err(CaseStop::Failed(format!(
                "expected the turn to end with a result, it ended with {}",
                describe_event(other)
            ))),
        }
    }

    /// Checks that the turn succeeded with this answer.
    pub(super) fn expect_answer(&self, expected: &str) -> CheckResult {
        let (text, _) = self.result()?;
        ensure(text == expected, || {
            format!(
                "expected the answer {}, got {}",
                quoted(expected),
                quoted(text)
            )
        })
    }

    /// Checks that the turn ended with an error of this kind.
    pub(super) fn expect_error(&self, expected: ErrorCode) -> CheckResult {
        let is_expected =
            matches!(self.last(), Some(AgentEvent::Error { code, .. }) if *code == expected);
        ensure(is_expected, || {
            format!(
                "expected the turn to end with {expected}, it ended with {}",
                describe_event(self.last())
            )
        })
    }

    /// Returns the text events, joined.
    pub(super) fn text(&self) -> String {
        let chunks = self.events().filter_map(|event| match event {
            AgentEvent::Text(text) => Some(text.as_str()),
            _ => None,
        });
        chunks.collect()
    }

    /// Checks the grammar: sequence numbers without gaps, one terminal event at the end, and no
    /// repairs by the handle.
    pub(super) fn check_grammar(&self) -> CheckResult {
        for (envelope, number) in self.events.iter().zip(1..) {
            let seq = envelope.seq;
            ensure(seq == number, || {
                format!("event {number} has the sequence number {seq}")
            })?;
            let is_last = number == self.events.len() as u64;
            ensure(envelope.event.is_terminal() == is_last, || {
                format!(
                    "event {number} of {} is {}",
                    self.events.len(),
                    describe_event(Some(&envelope.event))
                )
            })?;
            match &envelope.event {
                AgentEvent::Custom { kind, .. } => {
                    ensure(!REPAIR_MARKERS.contains(&kind.as_str()), || {
                        format!("the backend reports a tool that is not open ({kind})")
                    })?
                }
                AgentEvent::Error { message, .. } => {
                    ensure(!message.contains(NO_TERMINAL_EVENT), || {
                        "the backend ends the turn without a terminal event".to_owned()
                    })?
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks that the agent itself started and ended every tool call of the turn, with this
    /// outcome.
    pub(super) fn check_tools(&self, succeeding: bool) -> CheckResult {
        let starts = self.events().filter_map(|event| match event {
            AgentEvent::ToolStart { id, name, input } => Some((id, name, input)),
            _ => None,
        });
        let mut any = false;
        for (start, name, input) in starts {
            any = true;
            ensure(*input != Value::Null, || {
                format!("the start of {name} has no input")
            })?;
            let end = self.events().find_map(|event| match event {
                AgentEvent::ToolEnd {
                    id,
                    name,
                    output,
                    success,
                    ..
                } if id == start => Some((name, output, *success)),
                _ => None,
            });
            let Some((end_name, output, success)) = end else {
                return Err(CaseStop::Failed(format!(
                    "{name} was started and never ended"
                )));
            };
            ensure(end_name == name, || {
                format!("{name} was started and {end_name} ended")
            })?;
            ensure(!is_supplied(output), || {
                format!("the backend left {name} open")
            })?;
            ensure(success == succeeding, || {
                let [reported, actual] = [success, succeeding]
                    .map(|success| if success { "success" } else { "failure" });
                format!("the end of {name} reports {reported} instead of {actual}")
            })?;
        }
        ensure(any, || {
            "the agent called a tool but reports none".to_owned()
        })
    }
}

/// Returns `true` if the handle added the end of the tool call.
fn is_supplied(output: &Value) -> bool {
    output["error"] == "the turn ended before the tool did"
}

/// Returns a short text for an event.
pub(super) fn describe_event(event: Option<&AgentEvent>) -> String {
    match event {
        None => "nothing".to_owned(),
        Some(event) => {
            let json = serde_json::to_string(event).unwrap_or_default();
            short(&json).into_owned()
        }
    }
}

/// Describes how one text differs from another, around the first difference.
pub(super) fn difference(expected: &str, actual: &str) -> String {
    let pairs = expected.char_indices().zip(actual.chars());
    let common = pairs.take_while(|((_, a), b)| a == b).last();
    let position = common.map_or(0, |((position, c), _)| position + c.len_utf8());
    let from = expected.floor_char_boundary(position.saturating_sub(20));
    format!(
        "expected {} bytes, got {}; from byte {from}: expected {}, got {}",
        expected.len(),
        actual.len(),
        quoted(&expected[from..]),
        quoted(&actual[from..])
    )
}

/// Returns a text in quotes, truncated if it is long.
pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", short(text))
}

fn short(text: &str) -> Cow<'_, str> {
    const WIDTH: usize = 80;
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}
