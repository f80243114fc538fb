//! What was asked of a scripted model, and what became of it.

use serde::{Deserialize, Serialize};
use windlass_core::escape_line;
use windlass_wire::Dialect;

use crate::script::UnusedTurn;

/// How many exchanges are kept; later ones are only counted.
pub(crate) const MAX_EXCHANGES: usize = 10_000;
/// How much of what was asked is kept.
const MAX_PROMPT_CHARS: usize = 2_000;
/// How much of it stands in a line.
const MAX_SHOWN_CHARS: usize = 200;

/// One request and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedExchange {
    /// Its number, counted from 1.
    pub number: u64,
    /// The method and the path with its query.
    pub request: String,
    /// The API, where the path names one.
    pub dialect: Option<Dialect>,
    /// The model asked for.
    pub model: String,
    /// What was new in it, at most the last 2,000 characters: agents put their reminders before the prompt.
    pub news: String,
    /// The tools on offer.
    pub tools: Vec<String>,
    /// What answered it.
    pub outcome: ExchangeOutcome,
}

/// What answered a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExchangeOutcome {
    /// A turn of the script, counted from 1.
    Turn(usize),
    /// A default answer, for what agents ask besides.
    SideCall(String),
    /// Nothing: the script does not expect it. This is why.
    Unexpected(String),
}

impl ServedExchange {
    pub(crate) fn new(request: String) -> Self {
        Self {
            number: 0,
            request,
            dialect: None,
            model: String::new(),
            news: String::new(),
            tools: Vec::new(),
            outcome: ExchangeOutcome::Unexpected("not looked at".to_owned()),
        }
    }

    pub(crate) fn with_news(mut self, news: &str) -> Self {
        self.news = last(news, MAX_PROMPT_CHARS).to_owned();
        self
    }

    /// Whether the script did not expect it.
    pub fn is_unexpected(&self) -> bool {
        matches!(self.outcome, ExchangeOutcome::Unexpected(_))
    }
}

impl std::fmt::Display for ServedExchange {
    /// One line, safe to look at.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let request = escape_line(&self.request);
        match &self.outcome {
            ExchangeOutcome::Turn(turn) => write!(f, "{request}: turn {turn}"),
            ExchangeOutcome::SideCall(name) => write!(f, "{request}: side call ({name})"),
            ExchangeOutcome::Unexpected(why) => {
                let news = last(&self.news, MAX_SHOWN_CHARS);
                write!(f, "{request}: unexpected: {}", escape_line(why))?;
                write!(f, "; it ends: {}", escape_line(news))
            }
        }
    }
}

/// The end of a text.
fn last(text: &str, chars: usize) -> &str {
    let start = text.char_indices().rev().nth(chars.saturating_sub(1));
    start.map_or(text, |(at, _)| &text[at..])
}

/// What became of a whole script.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptReport {
    /// How many requests came.
    pub requests: u64,
    /// How many of them the script answered.
    pub turns: u64,
    /// How many got a default answer.
    pub side_calls: u64,
    /// How many the script did not expect.
    pub unexpected: u64,
    /// Those, as far as they were kept.
    pub unexpected_requests: Vec<ServedExchange>,
    /// The turns that nothing asked for, or not often enough.
    pub unmet: Vec<UnusedTurn>,
}

impl ScriptReport {
    /// Whether every request was expected and every turn asked for.
    pub fn is_clean(&self) -> bool {
        self.unexpected == 0 && self.unmet.is_empty()
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
        for unmet in &self.unmet {
            write!(f, "\n{unmet}")?;
        }
        Ok(())
    }
}
