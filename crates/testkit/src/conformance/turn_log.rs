//! What a turn told, and what can be said against it.

use std::borrow::Cow;

use serde_json::Value;
use windlass_core::{AgentEvent, Envelope, ErrorCode, Usage};

use super::case::{CaseStop, CheckResult, ensure};

/// The events of a turn, to its end.
#[derive(Debug)]
pub(super) struct TurnLog {
    events: Vec<Envelope>,
}

/// Marks that a handle leaves where it mended what a backend did wrong.
const REPAIR_MARKERS: [&str; 2] = ["unpaired_tool_progress", "repeated_tool_end"];
const SILENT: &str = "without saying how it ended";

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

    /// The answer of a turn that ended well, with its usage.
    pub(super) fn result(&self) -> CheckResult<(&str, Option<&Usage>)> {
        match self.last() {
            Some(AgentEvent::Result { text, usage, .. }) => Ok((text, usage.as_ref())),
            other => Err(CaseStop::Failed(format!(
                "the turn should end with a result and ended with {}",
                describe_event(other)
            ))),
        }
    }

    /// Checks that the turn ended well with this answer.
    pub(super) fn expect_answer(&self, expected: &str) -> CheckResult {
        let (text, _) = self.result()?;
        ensure(text == expected, || {
            format!(
                "the answer should be {} and is {}",
                quoted(expected),
                quoted(text)
            )
        })
    }

    /// Checks that the turn ended with an error of this kind.
    pub(super) fn expect_error(&self, expected: ErrorCode) -> CheckResult {
        let holds =
            matches!(self.last(), Some(AgentEvent::Error { code, .. }) if *code == expected);
        ensure(holds, || {
            format!(
                "the turn should end with {expected} and ended with {}",
                describe_event(self.last())
            )
        })
    }

    /// The pieces of the answer, put together.
    pub(super) fn text(&self) -> String {
        let pieces = self.events().filter_map(|event| match event {
            AgentEvent::Text(text) => Some(text.as_str()),
            _ => None,
        });
        pieces.collect()
    }

    /// Checks the grammar: numbers without gaps, one terminal event at the end, and nothing that the handle
    /// had to mend.
    pub(super) fn check_grammar(&self) -> CheckResult {
        for (envelope, number) in self.events.iter().zip(1..) {
            let seq = envelope.seq;
            ensure(seq == number, || {
                format!("event {number} has the number {seq}")
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
                AgentEvent::Error { message, .. } => ensure(!message.contains(SILENT), || {
                    "the backend ends the turn without a terminal event".to_owned()
                })?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks that every tool of the turn was begun and ended by the agent itself, in this way.
    pub(super) fn check_tools(&self, succeeding: bool) -> CheckResult {
        let starts = self.events().filter_map(|event| match event {
            AgentEvent::ToolStart { id, name, input } => Some((id, name, input)),
            _ => None,
        });
        let mut any = false;
        for (start, name, input) in starts {
            any = true;
            ensure(*input != Value::Null, || {
                format!("the start of {name} does not say its input")
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
                return Err(CaseStop::Failed(format!("{name} began and never ended")));
            };
            ensure(end_name == name, || {
                format!("{name} began and {end_name} ended")
            })?;
            ensure(!is_supplied(output), || {
                format!("the backend left {name} open")
            })?;
            ensure(success == succeeding, || {
                let [said, was] =
                    [success, succeeding].map(|yes| if yes { "success" } else { "failure" });
                format!("the end of {name} says {said} where it was a {was}")
            })?;
        }
        ensure(any, || "the agent used a tool and reports none".to_owned())
    }
}

/// Whether a tool's end was supplied by the handle.
fn is_supplied(output: &Value) -> bool {
    output["error"] == "the turn ended before the tool did"
}

/// An event in a few words.
pub(super) fn describe_event(event: Option<&AgentEvent>) -> String {
    match event {
        None => "nothing".to_owned(),
        Some(event) => {
            let json = serde_json::to_string(event).unwrap_or_default();
            short(&json).into_owned()
        }
    }
}

/// How one text differs from another, around the place where they part.
pub(super) fn difference(expected: &str, seen: &str) -> String {
    let pairs = expected.char_indices().zip(seen.chars());
    let part = pairs.take_while(|((_, a), b)| a == b).last();
    let at = part.map_or(0, |((at, c), _)| at + c.len_utf8());
    let from = expected.floor_char_boundary(at.saturating_sub(20));
    format!(
        "{} bytes should come and {} came; from byte {from} on it should be {} and is {}",
        expected.len(),
        seen.len(),
        quoted(&expected[from..]),
        quoted(&seen[from..])
    )
}

/// A text in quotes, cut where it is long.
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
