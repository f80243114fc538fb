//! A turn of the script as the events of a response, with the waits between them.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_wire::{Dialect, ModelEvent, ModelRequest, Opaque, StopReason, TokenUsage, ToolCall};

use crate::intent::{NAMESPACE, NoTool, OfferedTools};
use crate::script::{ScriptPart, ScriptTurn, ScriptedUsage};
use crate::side::SideReply;

/// The minimum length of the chunks in which text and inputs are streamed.
const MIN_CHUNK_BYTES: usize = 24;
/// The maximum number of chunks per part.
const MAX_CHUNKS: usize = 64;

/// The next step of a response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ResponseStep {
    /// Emit an event.
    Emit(ModelEvent),
    /// Wait.
    Wait(Duration),
}

/// A response that is being built.
#[derive(Debug)]
pub(crate) struct ScriptedResponse {
    steps: Vec<ResponseStep>,
    delay: Duration,
    calls: usize,
    /// The number of this answer in the conversation. It makes the calls' ids unique in the conversation and
    /// reproducible.
    number: usize,
    /// `true` if the response has calls, including those that are sent as opaque items.
    has_calls: bool,
}

impl ScriptedResponse {
    /// Starts a response to this request.
    pub(crate) fn new(request: &ModelRequest, number: usize, delay: Duration) -> Self {
        let start = ModelEvent::Start {
            id: format!("scripted-{number}"),
            model: request.model.clone(),
        };
        Self {
            steps: vec![ResponseStep::Emit(start)],
            delay,
            calls: 0,
            number,
            has_calls: false,
        }
    }

    /// Adds the parts of a turn, with the agent's own tools for its intents.
    pub(crate) fn parts(
        mut self,
        turn: &ScriptTurn,
        offered: &OfferedTools<'_>,
    ) -> Result<Self, NoTool> {
        for part in &turn.answer {
            match part {
                ScriptPart::Text(text) => self.text(text),
                ScriptPart::Reasoning(text) => self.reasoning(text),
                ScriptPart::Json(value) => self.json(value, offered),
                ScriptPart::Wait(time) => self.steps.push(ResponseStep::Wait(*time)),
                ScriptPart::Call(intent) => self.call(offered.call(intent)?),
            }
        }
        Ok(self)
    }

    /// Adds the answer to a side call.
    pub(crate) fn side_reply(mut self, reply: SideReply, offered: &OfferedTools<'_>) -> Self {
        match reply {
            SideReply::Text(text) => self.text(text),
            SideReply::Json(json) => match serde_json::from_str(json) {
                Ok(value) => self.json(&value, offered),
                Err(_) => self.text(json),
            },
        }
        self
    }

    /// Returns the steps so far, for a response that is truncated.
    pub(crate) fn truncated(self) -> Vec<ResponseStep> {
        self.steps
    }

    /// Completes the response.
    pub(crate) fn finish(mut self, tokens: ScriptedUsage) -> Vec<ResponseStep> {
        let reason = if self.has_calls {
            StopReason::ToolUse
        } else {
            StopReason::EndTurn
        };
        self.emit(ModelEvent::Usage(TokenUsage {
            input_tokens: tokens.input,
            output_tokens: tokens.output,
            cache_read_tokens: tokens.cached,
            cache_write_tokens: 0,
            reasoning_tokens: tokens.reasoning,
        }));
        self.emit(ModelEvent::Stop { reason });
        self.emit(ModelEvent::Done);
        self.steps
    }

    fn emit(&mut self, event: ModelEvent) {
        self.steps.push(ResponseStep::Emit(event));
    }

    /// Emits a text in chunks.
    fn emit_chunks(&mut self, text: &str, event: impl Fn(String) -> ModelEvent) {
        for chunk in chunks(text) {
            if !self.delay.is_zero() {
                self.steps.push(ResponseStep::Wait(self.delay));
            }
            self.emit(event(chunk.to_owned()));
        }
    }

    fn text(&mut self, text: &str) {
        self.emit_chunks(text, |text| ModelEvent::TextDelta { text });
    }

    fn reasoning(&mut self, text: &str) {
        self.emit_chunks(text, |text| ModelEvent::ReasoningDelta { text });
        self.emit(ModelEvent::ReasoningEnd {
            signature: Some("scripted".to_owned()),
            redacted: false,
        });
    }

    fn json(&mut self, value: &Value, offered: &OfferedTools<'_>) {
        match offered.structured(value) {
            Some(call) => self.call(call),
            None => self.text(&value.to_string()),
        }
    }

    fn call(&mut self, call: ToolCall) {
        let index = self.calls;
        let id = format!("call_{}_{}", self.number, index + 1);
        self.calls += 1;
        self.has_calls = true;
        if let Some(namespace) = call.extra.get(NAMESPACE) {
            return self.emit(namespaced(&call, &id, namespace));
        }
        self.emit(ModelEvent::ToolCallStart {
            index,
            id,
            name: call.name,
            kind: call.kind,
            signature: None,
        });
        self.emit_chunks(&call.input, |input| ModelEvent::ToolCallDelta {
            index,
            input,
        });
        self.emit(ModelEvent::ToolCallEnd { index });
    }
}

/// Returns a call that only Codex understands.
fn namespaced(call: &ToolCall, id: &str, namespace: &Value) -> ModelEvent {
    ModelEvent::Opaque(Opaque {
        dialect: Dialect::Responses,
        value: json!({
            "type": "function_call", "id": format!("fc_{id}"), "status": "completed", "call_id": id,
            NAMESPACE: namespace, "name": call.name, "arguments": call.input,
        }),
    })
}

/// Splits a text into chunks as a model streams it: neither single letters nor the whole text, and never too
/// many.
fn chunks(text: &str) -> Vec<&str> {
    let size = MIN_CHUNK_BYTES.max(text.len() / MAX_CHUNKS);
    let mut found = Vec::new();
    let mut rest = text;
    while rest.len() > size {
        let mut end = size;
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (chunk, after) = rest.split_at(end);
        found.push(chunk);
        rest = after;
    }
    if !rest.is_empty() {
        found.push(rest);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_join_to_the_text_and_are_few() {
        for text in [
            "",
            "a",
            "žluťoučký kůň pěl ďábelské ódy",
            &"ů".repeat(100_000),
        ] {
            assert_eq!(chunks(text).concat(), text);
            assert!(chunks(text).len() <= MAX_CHUNKS + 1);
        }
    }
}
