//! Claude's stream-json, which other agents speak with an accent.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use windlass_core::AgentEvent;

use super::result::{ResultLine, SystemLine};
use crate::cli::{Parsed, Parser, ProcessEnd, RunningTotal, failure};

/// How an agent's stream-json differs from Claude's.
#[derive(Debug)]
pub(in crate::cli) struct StreamJsonQuirks {
    /// The agent's name.
    pub(in crate::cli) agent: &'static str,
    /// Whether the input tokens hold those from the cache.
    pub(in crate::cli) input_holds_cached: bool,
    /// Whether the tokens at a turn's end are those of the whole session.
    pub(in crate::cli) running_total: bool,
    /// Whether an error of the provider stands at the end of an answer, in brackets.
    pub(in crate::cli) errors_in_answers: bool,
}

/// Reads the lines of a session.
#[derive(Debug)]
pub struct StreamJson {
    pub(super) accent: &'static StreamJsonQuirks,
    pub(super) before: Option<RunningTotal>,
    /// The tools under way, id and name.
    open: Vec<(String, String)>,
    /// The message that is being streamed, and whether anything of it was said.
    streaming: Option<String>,
    said: bool,
    /// The error that came as if it were an answer.
    pub(super) complaint: Option<ErrorAnswer>,
}

/// An error in the clothes of an answer.
#[derive(Debug)]
pub(super) struct ErrorAnswer {
    pub(super) word: String,
    pub(super) text: String,
}

#[derive(Deserialize)]
struct StreamLine<'a> {
    #[serde(rename = "type")]
    kind: String,
    parent_tool_use_id: Option<String>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    event: Option<&'a RawValue>,
    error: Option<Value>,
    #[serde(default)]
    is_api_error_message: bool,
}

#[derive(Deserialize)]
struct Message<'a> {
    id: Option<String>,
    model: Option<String>,
    #[serde(borrow)]
    content: &'a RawValue,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: String,
    thinking: String,
    id: String,
    name: String,
    input: Value,
    tool_use_id: String,
    content: Value,
    is_error: bool,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    delta: Option<Delta>,
    message: Option<Started>,
}

#[derive(Deserialize)]
struct Delta {
    text: Option<String>,
    thinking: Option<String>,
}

#[derive(Deserialize)]
struct Started {
    id: String,
}

impl StreamJson {
    /// A parser for Claude's session that had consumed so much before; `None` if nobody knows how much.
    pub fn claude(before: Option<RunningTotal>) -> Self {
        Self::new(&super::QUIRKS, before)
    }

    /// The same for Qwen's.
    pub fn qwen(before: Option<RunningTotal>) -> Self {
        Self::new(&crate::cli::qwen::QUIRKS, before)
    }

    pub(super) fn new(accent: &'static StreamJsonQuirks, before: Option<RunningTotal>) -> Self {
        Self {
            accent,
            before,
            open: Vec::new(),
            streaming: None,
            said: false,
            complaint: None,
        }
    }

    fn assistant(&mut self, line: &StreamLine<'_>, raw: &str) -> Parsed {
        let Some((message, blocks)) = line.message.and_then(read_message) else {
            return Parsed::unparsed(raw);
        };
        if let Some(parent) = &line.parent_tool_use_id {
            return subagent_progress(parent, message.content);
        }
        let synthetic = message.model.as_deref() == Some("<synthetic>");
        let said = self.said && message.id.is_some() && message.id == self.streaming;
        let mut events = Vec::new();
        for block in blocks {
            match block.kind.as_str() {
                "text" if synthetic || line.is_api_error_message => {
                    let word = line.error.as_ref().and_then(Value::as_str);
                    self.set_error(word, block.text);
                }
                "text" if !said => events.extend(self.answer(block.text)),
                "thinking" if !said => events.push(AgentEvent::Thought(block.thinking)),
                "tool_use" => {
                    self.open.push((block.id.clone(), block.name.clone()));
                    events.push(AgentEvent::ToolStart {
                        id: block.id,
                        name: block.name,
                        input: block.input,
                    });
                }
                _ => {}
            }
        }
        Parsed::events(events)
    }

    /// What of a text is an answer; what is an error is said by the end of the turn.
    fn answer(&mut self, mut text: String) -> Option<AgentEvent> {
        let mark = text.find("[API Error: ");
        if let Some(at) = mark.filter(|_| self.accent.errors_in_answers) {
            let error = text.split_off(at);
            self.set_error(None, error);
        }
        (!text.trim().is_empty()).then_some(AgentEvent::Text(text))
    }

    fn set_error(&mut self, word: Option<&str>, text: String) {
        self.complaint = Some(ErrorAnswer {
            word: word.unwrap_or_default().to_owned(),
            text,
        });
    }

    /// Only the results of tools are news; the rest repeats what the agent was told.
    fn user(&mut self, line: &StreamLine<'_>, raw: &str) -> Parsed {
        let Some((message, blocks)) = line.message.and_then(read_message) else {
            return Parsed::unparsed(raw);
        };
        if let Some(parent) = &line.parent_tool_use_id {
            return subagent_progress(parent, message.content);
        }
        let results = blocks
            .into_iter()
            .filter(|block| block.kind == "tool_result");
        Parsed::events(results.map(|block| {
            let id = block.tool_use_id;
            let at = self.open.iter().position(|(open, _)| *open == id);
            let name = at.map(|at| self.open.swap_remove(at).1).unwrap_or_default();
            AgentEvent::ToolEnd {
                id,
                name,
                output: blocks_text(block.content),
                success: !block.is_error,
                duration_ms: 0,
            }
        }))
    }

    fn on_stream_event(&mut self, line: &StreamLine<'_>, raw: &str) -> Parsed {
        let Some(event) = line
            .event
            .and_then(|event| serde_json::from_str::<Event>(event.get()).ok())
        else {
            return Parsed::unparsed(raw);
        };
        match (event.kind.as_str(), event.delta) {
            ("message_start", _) if line.parent_tool_use_id.is_none() => {
                self.streaming = event.message.map(|message| message.id);
                self.said = false;
                Parsed::default()
            }
            ("content_block_delta", Some(delta)) if line.parent_tool_use_id.is_none() => {
                let text = delta.text.map(AgentEvent::Text);
                let piece = text.or(delta.thinking.map(AgentEvent::Thought));
                self.said |= piece.is_some();
                Parsed::events(piece)
            }
            // The beginnings and ends of blocks, pieces of a tool's input, and a state that nobody asked for.
            _ => Parsed::default(),
        }
    }
}

impl StreamJson {
    /// What a line means; `None` if it is of a kind that is not ours.
    pub(super) fn parse_known(&mut self, line: &str) -> Option<Parsed> {
        let read: StreamLine<'_> = serde_json::from_str(line).ok()?;
        Some(match read.kind.as_str() {
            "assistant" => self.assistant(&read, line),
            "user" => self.user(&read, line),
            "stream_event" => self.on_stream_event(&read, line),
            "system" => serde_json::from_str::<SystemLine>(line).ok()?.parse(line),
            "result" => serde_json::from_str::<ResultLine>(line).ok()?.parse(self),
            _ => return None,
        })
    }
}

impl Parser for StreamJson {
    fn parse_line(&mut self, line: &str) -> Parsed {
        self.parse_known(line)
            .unwrap_or_else(|| Parsed::unparsed(line))
    }

    fn finish(&mut self, ended: &ProcessEnd<'_>) -> AgentEvent {
        let said = self
            .complaint
            .as_ref()
            .map(|complaint| complaint.text.as_str());
        failure::no_result_error(self.accent.agent, said, ended)
    }
}

/// A message and its blocks; plain text is one block.
fn read_message(raw: &RawValue) -> Option<(Message<'_>, Vec<Block>)> {
    let message: Message<'_> = serde_json::from_str(raw.get()).ok()?;
    let content = message.content.get();
    let blocks = match content.starts_with('[') {
        true => serde_json::from_str(content).ok()?,
        false => vec![Block {
            kind: "text".to_owned(),
            text: serde_json::from_str(content).ok()?,
            ..Block::default()
        }],
    };
    Some((message, blocks))
}

/// What a helper of the agent says is progress of the tool that began it, and no answer to us.
fn subagent_progress(parent: &str, content: &RawValue) -> Parsed {
    let content: Value = serde_json::from_str(content.get()).unwrap_or_default();
    Parsed::event(AgentEvent::ToolProgress {
        id: parent.to_owned(),
        update: json!({ "content": content }),
    })
}

/// Blocks of text as the text they are.
fn blocks_text(content: Value) -> Value {
    let Value::Array(blocks) = &content else {
        return content;
    };
    let texts: Option<Vec<&str>> = blocks
        .iter()
        .map(|block| block.get("text").and_then(Value::as_str))
        .collect();
    match texts {
        Some(texts) => Value::from(texts.join("\n")),
        None => content,
    }
}
