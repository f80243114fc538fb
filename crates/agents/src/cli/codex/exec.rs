//! What `codex exec --json` says.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::json;
use windlass_core::AgentEvent;

use super::items::{Item, Meaning};
use crate::cli::tokens::OpenAiTokens;
use crate::cli::{Ended, Heard, Parser, Total, failure};

/// Reads the lines of one run.
#[derive(Debug)]
pub struct Exec {
    turn: u64,
    before: Option<Total>,
    answer: String,
    open: Vec<String>,
    complaint: Option<String>,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    thread_id: Option<String>,
    #[serde(borrow)]
    item: Option<Item<'a>>,
    usage: Option<OpenAiTokens>,
    error: Option<Problem>,
    message: Option<String>,
}

#[derive(Deserialize)]
struct Problem {
    message: String,
}

impl Exec {
    /// A parser for this turn of a session that had consumed so much before; `None` if nobody knows how much.
    pub fn new(turn: u64, before: Option<Total>) -> Self {
        Self {
            turn,
            before,
            answer: String::new(),
            open: Vec::new(),
            complaint: None,
        }
    }

    /// Codex counts its items anew in every run; ours are told apart by the turn.
    fn id(&self, item: &Item<'_>) -> String {
        format!("{}/{}", self.turn, item.id)
    }

    fn started(&mut self, item: &Item<'_>) -> Vec<AgentEvent> {
        if item.meaning() != Meaning::Tool {
            return Vec::new();
        }
        let id = self.id(item);
        self.open.push(id.clone());
        vec![item.tool_start(id)]
    }

    fn completed(&mut self, item: Item<'_>, line: &str) -> Heard {
        Heard::events(match item.meaning() {
            Meaning::Answer => {
                let text = item.text.unwrap_or_default();
                self.answer.clone_from(&text);
                vec![AgentEvent::Text(text)]
            }
            Meaning::Thought => item
                .thought()
                .map(AgentEvent::Thought)
                .into_iter()
                .collect(),
            Meaning::Tool => self.tool_ended(item),
            Meaning::Plan => vec![item.plan()],
            Meaning::Notice => vec![item.notice()],
            Meaning::Prompt => Vec::new(),
            Meaning::Other => return Heard::unparsed(line),
        })
    }

    fn tool_ended(&mut self, item: Item<'_>) -> Vec<AgentEvent> {
        let id = self.id(&item);
        let was_open = self.open.iter().position(|open| *open == id);
        // Some tools are first heard of when they are done.
        let start = match was_open {
            Some(at) => {
                self.open.swap_remove(at);
                None
            }
            None => Some(item.tool_start(id.clone())),
        };
        start.into_iter().chain([item.tool_end(id)]).collect()
    }

    /// The counts are those of the whole thread: what was known before is not this turn's.
    fn result(&mut self, usage: Option<OpenAiTokens>) -> Heard {
        let total = usage.map(Total::from);
        let known = total
            .zip(self.before)
            .map(|(total, before)| total.since(before));
        Heard {
            total,
            ..Heard::event(AgentEvent::Result {
                text: std::mem::take(&mut self.answer),
                metadata: match (&known, total) {
                    (None, Some(total)) => {
                        json!({ "thread_input_tokens": total.input, "thread_output_tokens": total.output })
                    }
                    _ => json!({}),
                },
                usage: known,
            })
        }
    }

    fn complained(&mut self, message: String) -> Heard {
        match reconnecting(&message) {
            Some(event) => Heard::event(event),
            // The end that follows says it again.
            None => {
                self.complaint = Some(message);
                Heard::default()
            }
        }
    }
}

impl Parser for Exec {
    fn line(&mut self, line: &str) -> Heard {
        let Ok(read) = serde_json::from_str::<Line<'_>>(line) else {
            return Heard::unparsed(line);
        };
        match (&*read.kind, read.item) {
            ("thread.started", _) => Heard {
                session: read.thread_id,
                ..Heard::default()
            },
            ("turn.started", _) => Heard::default(),
            ("item.started", Some(item)) => Heard::events(self.started(&item)),
            ("item.updated", Some(item)) if item.meaning() == Meaning::Plan => {
                Heard::event(item.plan())
            }
            ("item.completed", Some(item)) => self.completed(item, line),
            ("turn.completed", _) => self.result(read.usage),
            ("turn.failed", _) => {
                let said = read
                    .error
                    .map(|error| error.message)
                    .or(self.complaint.take());
                Heard::event(failure::failed(None, &said.unwrap_or_default()))
            }
            ("error", _) => self.complained(read.message.unwrap_or_default()),
            _ => Heard::unparsed(line),
        }
    }

    fn end(&mut self, ended: &Ended<'_>) -> AgentEvent {
        failure::silent("codex", self.complaint.as_deref(), ended)
    }
}

/// `Reconnecting... 2/5 (why)`: Codex tries again by itself.
pub(super) fn reconnecting(message: &str) -> Option<AgentEvent> {
    let rest = message.strip_prefix("Reconnecting...")?.trim_start();
    let (count, why) = rest.split_once(' ').unwrap_or((rest, message));
    let (attempt, of) = count.split_once('/').unwrap_or((count, ""));
    let why = why.trim_start_matches('(').trim_end_matches(')');
    Some(failure::retry(
        attempt.parse().ok(),
        of.parse().ok(),
        None,
        None,
        why,
    ))
}
