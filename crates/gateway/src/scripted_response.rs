//! A turn of the script as the events of an answer, and the silences between them.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_wire::{Dialect, ModelEvent, ModelRequest, Opaque, StopReason, TokenUsage, ToolCall};

use crate::intent::{NAMESPACE, NoTool, OfferedTools};
use crate::script::{ScriptPart, ScriptTurn, ScriptedUsage};
use crate::side::SideReply;

/// The shortest piece that words and inputs are streamed in.
const MIN_CHUNK_BYTES: usize = 24;
/// The most pieces that one part is streamed in.
const MAX_CHUNKS: usize = 64;

/// What happens next in an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ResponseStep {
    /// The model says something.
    Emit(ModelEvent),
    /// It says nothing for a while.
    Wait(Duration),
}

/// An answer in the making.
#[derive(Debug)]
pub(crate) struct ScriptedResponse {
    beats: Vec<ResponseStep>,
    delay: Duration,
    calls: usize,
    /// Which answer of the conversation this is: it makes the calls' ids unique in the conversation, and the same every time.
    number: usize,
    /// Items that must go out as they are were calls, too.
    waiting: bool,
}

impl ScriptedResponse {
    /// The beginning of an answer to this request.
    pub(crate) fn new(request: &ModelRequest, number: usize, delay: Duration) -> Self {
        let start = ModelEvent::Start {
            id: format!("scripted-{number}"),
            model: request.model.clone(),
        };
        Self {
            beats: vec![ResponseStep::Emit(start)],
            delay,
            calls: 0,
            number,
            waiting: false,
        }
    }

    /// The parts of a turn, with the agent's own tools for its intents.
    pub(crate) fn parts(
        mut self,
        turn: &ScriptTurn,
        toolbox: &OfferedTools<'_>,
    ) -> Result<Self, NoTool> {
        for part in &turn.answer {
            match part {
                ScriptPart::Text(text) => self.text(text),
                ScriptPart::Reasoning(text) => self.reasoning(text),
                ScriptPart::Json(value) => self.json(value, toolbox),
                ScriptPart::Wait(time) => self.beats.push(ResponseStep::Wait(*time)),
                ScriptPart::Call(intent) => self.call(toolbox.call(intent)?),
            }
        }
        Ok(self)
    }

    /// The answer to a side call.
    pub(crate) fn side_reply(mut self, reply: SideReply, toolbox: &OfferedTools<'_>) -> Self {
        match reply {
            SideReply::Text(text) => self.text(text),
            SideReply::Json(json) => match serde_json::from_str(json) {
                Ok(value) => self.json(&value, toolbox),
                Err(_) => self.text(json),
            },
        }
        self
    }

    /// The answer so far, for one that breaks off.
    pub(crate) fn truncated(self) -> Vec<ResponseStep> {
        self.beats
    }

    /// The whole answer.
    pub(crate) fn finish(mut self, tokens: ScriptedUsage) -> Vec<ResponseStep> {
        let reason = if self.waiting {
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
        self.beats
    }

    fn emit(&mut self, event: ModelEvent) {
        self.beats.push(ResponseStep::Emit(event));
    }

    /// Says a text piece by piece.
    fn pieces(&mut self, text: &str, event: impl Fn(String) -> ModelEvent) {
        for piece in chunks(text) {
            if !self.delay.is_zero() {
                self.beats.push(ResponseStep::Wait(self.delay));
            }
            self.emit(event(piece.to_owned()));
        }
    }

    fn text(&mut self, text: &str) {
        self.pieces(text, |text| ModelEvent::TextDelta { text });
    }

    fn reasoning(&mut self, text: &str) {
        self.pieces(text, |text| ModelEvent::ReasoningDelta { text });
        self.emit(ModelEvent::ReasoningEnd {
            signature: Some("scripted".to_owned()),
            redacted: false,
        });
    }

    fn json(&mut self, value: &Value, toolbox: &OfferedTools<'_>) {
        match toolbox.structured(value) {
            Some(call) => self.call(call),
            None => self.text(&value.to_string()),
        }
    }

    fn call(&mut self, call: ToolCall) {
        let index = self.calls;
        let id = format!("call_{}_{}", self.number, index + 1);
        self.calls += 1;
        self.waiting = true;
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
        self.pieces(&call.input, |input| ModelEvent::ToolCallDelta {
            index,
            input,
        });
        self.emit(ModelEvent::ToolCallEnd { index });
    }
}

/// A call that only Codex understands.
fn namespaced(call: &ToolCall, id: &str, namespace: &Value) -> ModelEvent {
    ModelEvent::Opaque(Opaque {
        dialect: Dialect::Responses,
        value: json!({
            "type": "function_call", "id": format!("fc_{id}"), "status": "completed", "call_id": id,
            NAMESPACE: namespace, "name": call.name, "arguments": call.input,
        }),
    })
}

/// A text in pieces as a model streams it: neither letter by letter nor all at once, and never too many.
fn chunks(text: &str) -> Vec<&str> {
    let least = MIN_CHUNK_BYTES.max(text.len() / MAX_CHUNKS);
    let mut found = Vec::new();
    let mut rest = text;
    while rest.len() > least {
        let mut end = least;
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, after) = rest.split_at(end);
        found.push(piece);
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
    fn pieces_add_up_and_are_few() {
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
