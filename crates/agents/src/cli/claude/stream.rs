//! Claude's stream-json, of which other agents use variants.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use windlass_core::AgentEvent;

use super::result::{ResultLine, SystemLine};
use super::turn_state::{CLAUDE, ClaudeTurnState, ErrorAnswer, QWEN, StreamJsonQuirks};
use crate::cli::{Parsed, Parser, RunningTotal};
use crate::program::{ProcessEnd, failure};

/// Parses the lines of a session.
#[derive(Debug)]
pub struct StreamJson {
    turn: ClaudeTurnState,
    /// The running tools: ID and name.
    open_tools: Vec<(String, String)>,
    /// The message that is being streamed, and whether any of it was emitted.
    streaming: Option<String>,
    emitted: bool,
}

/// A line of type `assistant` or `user`.
#[derive(Deserialize)]
struct MessageLine<'a> {
    parent_tool_use_id: Option<String>,
    #[serde(borrow)]
    message: Message<'a>,
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
struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    text: String,
    thinking: String,
    id: String,
    name: String,
    input: Value,
    tool_use_id: String,
    content: Value,
    is_error: bool,
}

/// A line of type `stream_event`.
#[derive(Deserialize)]
struct EventLine<'a> {
    parent_tool_use_id: Option<String>,
    #[serde(borrow)]
    event: Event<'a>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
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
    /// Creates a parser for a Claude session with this usage so far, or `None` if it is unknown.
    pub fn claude(before: Option<RunningTotal>) -> Self {
        Self::new(&CLAUDE, before)
    }

    /// Creates a parser for a Qwen session with this usage so far, or `None` if it is unknown.
    pub fn qwen(before: Option<RunningTotal>) -> Self {
        Self::new(&QWEN, before)
    }

    fn new(quirks: &'static StreamJsonQuirks, before: Option<RunningTotal>) -> Self {
        Self {
            turn: ClaudeTurnState {
                quirks,
                before,
                error_answer: None,
            },
            open_tools: Vec::new(),
            streaming: None,
            emitted: false,
        }
    }

    fn assistant(&mut self, line: MessageLine<'_>) -> Option<Parsed> {
        let message = line.message;
        let blocks = read_blocks(message.content)?;
        if let Some(parent) = line.parent_tool_use_id {
            return Some(subagent_progress(parent, message.content));
        }
        let synthetic = message.model.as_deref() == Some("<synthetic>");
        let emitted = self.emitted && message.id.is_some() && message.id == self.streaming;
        let mut events = Vec::new();
        for block in blocks {
            match &*block.kind {
                "text" if synthetic || line.is_api_error_message => {
                    let code = line.error.as_ref().and_then(Value::as_str);
                    self.set_error(code, block.text);
                }
                "text" if !emitted => events.extend(self.answer(block.text)),
                "thinking" if !emitted => events.push(AgentEvent::Thought(block.thinking)),
                "tool_use" => {
                    self.open_tools.push((block.id.clone(), block.name.clone()));
                    events.push(AgentEvent::ToolStart {
                        id: block.id,
                        name: block.name,
                        input: block.input,
                    });
                }
                _ => {}
            }
        }
        Some(Parsed::events(events))
    }

    /// Returns the part of a text that is an answer. An error in it is reported at the end of the turn.
    fn answer(&mut self, mut text: String) -> Option<AgentEvent> {
        let marker = text.find("[API Error: ");
        if let Some(at) = marker.filter(|_| self.turn.quirks.errors_in_answers) {
            let error = text.split_off(at);
            self.set_error(None, error);
        }
        (!text.trim().is_empty()).then_some(AgentEvent::Text(text))
    }

    fn set_error(&mut self, code: Option<&str>, text: String) {
        self.turn.error_answer = Some(ErrorAnswer {
            code: code.unwrap_or_default().to_owned(),
            text,
        });
    }

    /// Only tool results are new; the rest repeats the agent's input.
    fn user(&mut self, line: MessageLine<'_>) -> Option<Parsed> {
        let content = line.message.content;
        let blocks = read_blocks(content)?;
        if let Some(parent) = line.parent_tool_use_id {
            return Some(subagent_progress(parent, content));
        }
        let results = blocks
            .into_iter()
            .filter(|block| block.kind == "tool_result");
        let ends = results.map(|block| {
            let id = block.tool_use_id;
            let at = self.open_tools.iter().position(|(open, _)| *open == id);
            let name = at
                .map(|at| self.open_tools.swap_remove(at).1)
                .unwrap_or_default();
            AgentEvent::ToolEnd {
                id,
                name,
                output: blocks_text(block.content),
                success: !block.is_error,
                duration_ms: 0,
            }
        });
        Some(Parsed::events(ends))
    }

    fn on_stream_event(&mut self, line: EventLine<'_>) -> Parsed {
        if line.parent_tool_use_id.is_some() {
            return Parsed::default();
        }
        let event = line.event;
        match (&*event.kind, event.delta) {
            ("message_start", _) => {
                self.streaming = event.message.map(|message| message.id);
                self.emitted = false;
                Parsed::default()
            }
            ("content_block_delta", Some(delta)) => {
                let text = delta.text.map(AgentEvent::Text);
                let chunk = text.or(delta.thinking.map(AgentEvent::Thought));
                self.emitted |= chunk.is_some();
                Parsed::events(chunk)
            }
            // Starts and ends of blocks, chunks of a tool's input, and status that is not used.
            _ => Parsed::default(),
        }
    }

    /// Parses a line. Returns `None` if it is of another kind or not valid.
    pub(super) fn parse_known(&mut self, line: &str) -> Option<Parsed> {
        match &*line_type(line)? {
            "assistant" => self.assistant(serde_json::from_str(line).ok()?),
            "user" => self.user(serde_json::from_str(line).ok()?),
            "stream_event" => Some(self.on_stream_event(serde_json::from_str(line).ok()?)),
            "system" => Some(serde_json::from_str::<SystemLine>(line).ok()?.parse(line)),
            "result" => Some(
                serde_json::from_str::<ResultLine>(line)
                    .ok()?
                    .parse(&mut self.turn),
            ),
            _ => None,
        }
    }
}

impl Parser for StreamJson {
    fn parse_line(&mut self, line: &str) -> Parsed {
        self.parse_known(line)
            .unwrap_or_else(|| Parsed::unparsed(line))
    }

    fn finish(&mut self, ended: &ProcessEnd<'_>) -> AgentEvent {
        let message = self
            .turn
            .error_answer
            .as_ref()
            .map(|error_answer| error_answer.text.as_str());
        failure::no_result_error(self.turn.quirks.agent, message, ended)
    }
}

/// Returns the type of a line. Most lines start with it; otherwise the whole line is searched.
fn line_type(line: &str) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct TypedLine<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
    }

    if let Some(kind) = first_type(line) {
        return Some(Cow::Borrowed(kind));
    }
    let line: TypedLine<'_> = serde_json::from_str(line).ok()?;
    Some(line.kind)
}

/// Returns the type of a line that starts with it.
fn first_type(line: &str) -> Option<&str> {
    let rest = line.trim_ascii_start().strip_prefix('{')?;
    let rest = rest.trim_ascii_start().strip_prefix("\"type\"")?;
    let rest = rest.trim_ascii_start().strip_prefix(':')?;
    let rest = rest.trim_ascii_start().strip_prefix('"')?;
    let (kind, _) = rest.split_once('"')?;
    (!kind.contains('\\')).then_some(kind)
}

/// Parses the content of a message; plain text is one block.
fn read_blocks(content: &RawValue) -> Option<Vec<Block<'_>>> {
    let content = content.get();
    if content.starts_with('[') {
        return serde_json::from_str(content).ok();
    }
    Some(vec![Block {
        kind: Cow::Borrowed("text"),
        text: serde_json::from_str(content).ok()?,
        ..Block::default()
    }])
}

/// Reports a subagent's output as progress of the tool that started it, not as an answer.
fn subagent_progress(parent: String, content: &RawValue) -> Parsed {
    let content: Value = serde_json::from_str(content.get()).unwrap_or_default();
    Parsed::event(AgentEvent::ToolProgress {
        id: parent,
        update: json!({ "content": content }),
    })
}

/// Joins blocks of text into one string.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_is_found_anywhere_in_a_line() {
        for line in [
            r#"{"type":"user"}"#,
            r#" { "type" : "user", "message": {"type": "message"} }"#,
            r#"{"message":{"type":"message"},"type":"user"}"#,
            r#"{"\u0074ype":"us\u0065r"}"#,
            r#"{"type":"us\u0065r"}"#,
        ] {
            assert_eq!(line_type(line).as_deref(), Some("user"), "{line}");
        }
        for line in ["", "{", "[]", r#"{"type":1}"#, r#"{"types":"user"}"#] {
            assert_eq!(line_type(line), None, "{line}");
        }
    }
}
