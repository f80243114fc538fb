//! The log of requests to a scripted model and their outcomes.

use serde::{Deserialize, Serialize};
use windlass_core::escape_line;
use windlass_wire::Dialect;

use crate::script::UnusedTurn;

/// The maximum number of stored exchanges; later ones are only counted.
pub(crate) const MAX_EXCHANGES: usize = 10_000;
/// The maximum length of a stored prompt.
const MAX_PROMPT_CHARS: usize = 2_000;
/// The maximum length of a prompt in a line of output.
const MAX_SHOWN_CHARS: usize = 200;

/// One request and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServedExchange {
    /// The number of the request, counted from 1.
    pub number: u64,
    /// The method and the path with its query.
    pub request: String,
    /// The API, if the path determines it.
    pub dialect: Option<Dialect>,
    /// The requested model.
    pub model: String,
    /// The new text in the request, at most the last 2,000 characters: agents put their reminders before the
    /// prompt.
    pub prompt: String,
    /// The offered tools.
    pub tools: Vec<String>,
    /// What answered the request.
    pub outcome: ExchangeOutcome,
}

/// What answered a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExchangeOutcome {
    /// A turn of the script, counted from 1.
    Turn(usize),
    /// A default answer to a side call.
    SideCall(String),
    /// Nothing: the script does not expect the request, for this reason.
    Unexpected(String),
}

impl ServedExchange {
    pub(crate) fn new(request: String) -> Self {
        Self {
            number: 0,
            request,
            dialect: None,
            model: String::new(),
            prompt: String::new(),
            tools: Vec::new(),
            outcome: ExchangeOutcome::Unexpected("not processed".to_owned()),
        }
    }

    pub(crate) fn with_prompt(mut self, prompt: &str) -> Self {
        self.prompt = last(prompt, MAX_PROMPT_CHARS).to_owned();
        self
    }

    /// Returns `true` if the script did not expect the request.
    pub fn is_unexpected(&self) -> bool {
        matches!(self.outcome, ExchangeOutcome::Unexpected(_))
    }
}

impl std::fmt::Display for ServedExchange {
    /// Formats the exchange as one line without control characters.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let request = escape_line(&self.request);
        match &self.outcome {
            ExchangeOutcome::Turn(turn) => write!(f, "{request}: turn {turn}"),
            ExchangeOutcome::SideCall(name) => write!(f, "{request}: side call ({name})"),
            ExchangeOutcome::Unexpected(why) => {
                let prompt = last(&self.prompt, MAX_SHOWN_CHARS);
                write!(f, "{request}: unexpected: {}", escape_line(why))?;
                write!(f, "; the prompt ends with: {}", escape_line(prompt))
            }
        }
    }
}

/// Returns the end of a text.
fn last(text: &str, chars: usize) -> &str {
    let start = text.char_indices().rev().nth(chars.saturating_sub(1));
    start.map_or(text, |(at, _)| &text[at..])
}

/// The outcome of a script.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScriptReport {
    /// The number of requests.
    pub requests: u64,
    /// The number of requests that the script answered.
    pub turns: u64,
    /// The number of requests that got a default answer.
    pub side_calls: u64,
    /// The number of requests that the script did not expect.
    pub unexpected: u64,
    /// The stored unexpected requests.
    pub unexpected_requests: Vec<ServedExchange>,
    /// The turns that were not used, or not often enough.
    pub unused_turns: Vec<UnusedTurn>,
}

impl ScriptReport {
    /// Returns `true` if every request was expected and every turn was used.
    pub fn is_clean(&self) -> bool {
        self.unexpected == 0 && self.unused_turns.is_empty()
    }
}

impl std::fmt::Display for ScriptReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            requests,
            turns,
            side_calls,
            unexpected,
            ..
        } = self;
        write!(
            f,
            "{requests} requests: {turns} answered from the script, {side_calls} side calls, {unexpected} unexpected"
        )?;
        for exchange in &self.unexpected_requests {
            write!(f, "\n{exchange}")?;
        }
        for turn in &self.unused_turns {
            write!(f, "\n{turn}")?;
        }
        Ok(())
    }
}
