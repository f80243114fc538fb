//! The pure half of an agent: maps lines to events and replies.
//!
//! A parser reads no clock, file or socket, so a recording of an agent replays exactly and any bytes can be
//! used as test input. It does not need to pair tool events or count its terminal events: the handle does that.

use serde_json::Value;
use windlass_core::{AgentEvent, PermissionRequest};

use super::tokens::RunningTotal;
use crate::program::ProcessEnd;

/// Parses the output of one turn.
pub trait Parser: Send {
    /// Parses one line of standard output.
    fn parse_line(&mut self, line: &str) -> Parsed;

    /// Returns the terminal event of a turn that has none in its output.
    fn finish(&mut self, ended: &ProcessEnd<'_>) -> AgentEvent;
}

/// A parser for an agent that runs many turns in one process.
pub trait InteractiveParser: Parser {
    /// Returns the lines to write when the process has started.
    fn on_start(&mut self) -> Vec<String>;

    /// Returns the lines to write to start a turn. Lines that cannot be written yet are returned later, as
    /// replies in [`Parsed`].
    fn start_turn(&mut self, request: TurnRequest) -> Vec<String>;

    /// Returns the lines to write to cancel the turn. Lines that cannot be written yet are returned later, as
    /// replies in [`Parsed`].
    fn interrupt(&mut self) -> Vec<String>;

    /// Returns the lines to write when this option was chosen for a permission request in [`Parsed`], or none
    /// was.
    fn answer_permission(&mut self, id: &str, option: Option<&str>) -> Vec<String>;
}

/// The input of one turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnRequest {
    /// The prompt.
    pub prompt: String,
    /// The JSON Schema that the answer must match.
    pub schema: Option<Value>,
}

/// The meaning of a line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed {
    /// The events.
    pub events: Vec<AgentEvent>,
    /// Lines to write back.
    pub replies: Vec<String>,
    /// Permission requests that the approver has to answer.
    pub asks: Vec<PermissionRequest>,
    /// The session's ID, if the line reports it.
    pub session: Option<String>,
    /// The session's total usage, if the line reports it; the usage of the next turn is counted from here.
    pub total: Option<RunningTotal>,
}

impl Parsed {
    /// Creates a value with one event and nothing else.
    pub fn event(event: AgentEvent) -> Self {
        Self::events([event])
    }

    /// Creates a value with events and nothing else.
    pub fn events(events: impl IntoIterator<Item = AgentEvent>) -> Self {
        Self {
            events: events.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Creates a value with one reply and nothing else.
    pub fn reply(line: String) -> Self {
        Self {
            replies: vec![line],
            ..Self::default()
        }
    }

    /// Creates a value with a permission request, which is also emitted as an event.
    pub fn permission(request: PermissionRequest) -> Self {
        Self {
            events: vec![request.to_event()],
            asks: vec![request],
            ..Self::default()
        }
    }

    /// Creates a value for a line that is not recognized: it is emitted as an event, never dropped.
    pub fn unparsed(line: &str) -> Self {
        if line.trim().is_empty() {
            return Self::default();
        }
        let payload = serde_json::from_str(line).unwrap_or_else(|_| Value::from(line));
        Self::event(AgentEvent::custom("unparsed", payload))
    }
}
