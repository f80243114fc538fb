//! Parses the output of `codex exec --json`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::json;
use windlass_core::AgentEvent;

use super::items::{Item, ItemKind};
use crate::cli::tokens::OpenAiTokens;
use crate::cli::{Parsed, Parser, RunningTotal};
use crate::program::{ProcessEnd, failure};

/// Parses the lines of one run.
#[derive(Debug)]
pub struct ExecParser {
    turn: u64,
    before: Option<RunningTotal>,
    answer: String,
    open_tools: Vec<String>,
    last_error: Option<String>,
}

#[derive(Deserialize)]
struct ExecLine<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    thread_id: Option<String>,
    #[serde(borrow)]
    item: Option<Item<'a>>,
    usage: Option<OpenAiTokens>,
    error: Option<ExecError>,
    message: Option<String>,
}

#[derive(Deserialize)]
struct ExecError {
    message: String,
}

impl ExecParser {
    /// Creates a parser for this turn of a session with this usage so far, or `None` if it is unknown.
    pub fn new(turn: u64, before: Option<RunningTotal>) -> Self {
        Self {
            turn,
            before,
            answer: String::new(),
            open_tools: Vec::new(),
            last_error: None,
        }
    }

    /// Codex restarts its item IDs in every run; the turn number keeps ours unique.
    fn id(&self, item: &Item<'_>) -> String {
        format!("{}/{}", self.turn, item.id)
    }

    fn started(&mut self, item: &Item<'_>) -> Vec<AgentEvent> {
        if item.kind() != ItemKind::Tool {
            return Vec::new();
        }
        let id = self.id(item);
        self.open_tools.push(id.clone());
        vec![item.tool_start(id)]
    }

    fn completed(&mut self, item: Item<'_>, line: &str) -> Parsed {
        Parsed::events(match item.kind() {
            ItemKind::Answer => {
                let text = item.text.unwrap_or_default();
                self.answer.clone_from(&text);
                vec![AgentEvent::Text(text)]
            }
            ItemKind::Thought => item
                .reasoning_text()
                .map(AgentEvent::Thought)
                .into_iter()
                .collect(),
            ItemKind::Tool => self.tool_ended(item),
            ItemKind::Plan => vec![item.plan()],
            ItemKind::Notice => vec![item.notice()],
            ItemKind::Prompt => Vec::new(),
            ItemKind::Other => return Parsed::unparsed(line),
        })
    }

    fn tool_ended(&mut self, item: Item<'_>) -> Vec<AgentEvent> {
        let id = self.id(&item);
        let was_open = self.open_tools.iter().position(|open| *open == id);
        // Some tools are reported only when they are done.
        let start = match was_open {
            Some(at) => {
                self.open_tools.swap_remove(at);
                None
            }
            None => Some(item.tool_start(id.clone())),
        };
        start.into_iter().chain([item.tool_end(id)]).collect()
    }

    /// The counts are totals of the thread, so the usage before this turn is subtracted.
    fn result(&mut self, usage: Option<OpenAiTokens>) -> Parsed {
        let total = usage.map(RunningTotal::from);
        let usage_of_turn = total
            .zip(self.before)
            .map(|(total, before)| total.usage_since(before));
        Parsed {
            total,
            ..Parsed::event(AgentEvent::Result {
                text: std::mem::take(&mut self.answer),
                metadata: match (&usage_of_turn, total) {
                    (None, Some(total)) => {
                        json!({ "thread_input_tokens": total.input, "thread_output_tokens": total.output })
                    }
                    _ => json!({}),
                },
                usage: usage_of_turn,
            })
        }
    }

    fn on_error(&mut self, message: String) -> Parsed {
        match parse_reconnect(&message) {
            Some(event) => Parsed::event(event),
            // The terminal event repeats it.
            None => {
                self.last_error = Some(message);
                Parsed::default()
            }
        }
    }
}

impl Parser for ExecParser {
    fn parse_line(&mut self, line: &str) -> Parsed {
        let Ok(parsed) = serde_json::from_str::<ExecLine<'_>>(line) else {
            return Parsed::unparsed(line);
        };
        match (&*parsed.kind, parsed.item) {
            ("thread.started", _) => Parsed {
                session: parsed.thread_id,
                ..Parsed::default()
            },
            ("turn.started", _) => Parsed::default(),
            ("item.started", Some(item)) => Parsed::events(self.started(&item)),
            ("item.updated", Some(item)) if item.kind() == ItemKind::Plan => {
                Parsed::event(item.plan())
            }
            ("item.completed", Some(item)) => self.completed(item, line),
            ("turn.completed", _) => self.result(parsed.usage),
            ("turn.failed", _) => {
                let message = parsed
                    .error
                    .map(|error| error.message)
                    .or(self.last_error.take());
                Parsed::event(failure::error_event(None, &message.unwrap_or_default()))
            }
            ("error", _) => self.on_error(parsed.message.unwrap_or_default()),
            _ => Parsed::unparsed(line),
        }
    }

    fn finish(&mut self, ended: &ProcessEnd<'_>) -> AgentEvent {
        failure::no_result_error("codex", self.last_error.as_deref(), ended)
    }
}

/// Parses `Reconnecting... 2/5 (reason)`, which Codex prints when it retries on its own.
pub(super) fn parse_reconnect(message: &str) -> Option<AgentEvent> {
    let rest = message.strip_prefix("Reconnecting...")?.trim_start();
    let (count, reason) = rest.split_once(' ').unwrap_or((rest, message));
    let (attempt, of) = count.split_once('/').unwrap_or((count, ""));
    let reason = reason.trim_start_matches('(').trim_end_matches(')');
    Some(failure::retry(
        attempt.parse().ok(),
        of.parse().ok(),
        None,
        None,
        reason,
    ))
}
