//! The pure half of an agent: lines in, events and answers out.
//!
//! A parser reads no clock, no file and no socket, so that a recording of an agent replays exactly and any bytes can
//! be tried on it. It need not pair tools or count its terminal events: the handle does.

use serde_json::Value;
use windlass_core::{AgentEvent, PermissionRequest};

use super::tokens::RunningTotal;

/// Reads what an agent says in one turn.
pub trait Parser: Send {
    /// What one line of standard output means.
    fn parse_line(&mut self, line: &str) -> Parsed;

    /// How the turn ended, when the output did and no line had said so.
    fn finish(&mut self, ended: &ProcessEnd<'_>) -> AgentEvent;
}

/// A parser for an agent that is spoken with over one process and many turns.
pub trait InteractiveParser: Parser {
    /// What to write when the process has started.
    fn on_start(&mut self) -> Vec<String>;

    /// What to write to begin a turn. What cannot be written yet comes as a reply in [`Heard`].
    fn start_turn(&mut self, question: TurnRequest) -> Vec<String>;

    /// What to write to have the turn end early. What cannot be written yet comes as a reply in [`Heard`].
    fn interrupt(&mut self) -> Vec<String>;

    /// What to write when somebody chose this option in answer to a question in [`Heard`], or nobody did.
    fn answer_permission(&mut self, id: &str, option: Option<&str>) -> Vec<String>;
}

/// What one turn is to be about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnRequest {
    /// The prompt.
    pub prompt: String,
    /// The schema that the answer must fit.
    pub schema: Option<Value>,
}

/// What a line meant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed {
    /// What happened.
    pub events: Vec<AgentEvent>,
    /// Lines to write back.
    pub replies: Vec<String>,
    /// Questions that a person has to answer.
    pub asks: Vec<PermissionRequest>,
    /// The session's name, where the line says it.
    pub session: Option<String>,
    /// What the session consumed in all its turns, where the line says it: the next turn begins there.
    pub total: Option<RunningTotal>,
}

impl Parsed {
    /// One event and nothing else.
    pub fn event(event: AgentEvent) -> Self {
        Self::events([event])
    }

    /// Events and nothing else.
    pub fn events(events: impl IntoIterator<Item = AgentEvent>) -> Self {
        Self {
            events: events.into_iter().collect(),
            ..Self::default()
        }
    }

    /// A line to write back and nothing else.
    pub fn reply(line: String) -> Self {
        Self {
            replies: vec![line],
            ..Self::default()
        }
    }

    /// A question for a person, which whoever watches sees too.
    pub fn permission(ask: PermissionRequest) -> Self {
        Self {
            events: vec![ask.to_event()],
            asks: vec![ask],
            ..Self::default()
        }
    }

    /// A line that means nothing to us: seen, never dropped.
    pub fn unparsed(line: &str) -> Self {
        if line.trim().is_empty() {
            return Self::default();
        }
        let payload = serde_json::from_str(line).unwrap_or_else(|_| Value::from(line));
        Self::event(AgentEvent::custom("unparsed", payload))
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessEnd<'a> {
    /// The exit code; 128 + n if signal n ended it.
    pub code: i32,
    /// What it said on standard error.
    pub stderr: &'a str,
}
