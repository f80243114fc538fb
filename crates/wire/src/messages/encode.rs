//! Messages: encoding of events as a response.

use serde_json::{Value, json};

use super::error;
use crate::codec::Encode;
use crate::frame::FrameWriter;
use crate::json::ObjectBuilder;
use crate::{
    ModelEvent, ModelResponse, Part, Reasoning, ResponseStyle, StopReason, TokenUsage,
    ToolInputKind,
};

/// Encodes the events of one response.
#[derive(Debug)]
pub(crate) struct Encoder {
    /// The number of started blocks.
    blocks: usize,
    /// The open block of text or reasoning; it is always the newest.
    open: Option<OpenBlock>,
    calls: Vec<OpenCall>,
    stop: Option<StopReason>,
    usage: TokenUsage,
}

#[derive(Debug, Clone, Copy)]
struct OpenCall {
    /// The index among the calls.
    index: usize,
    /// The block, which stays open until the call ends.
    block: Option<usize>,
    kind: ToolInputKind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum OpenBlock {
    Text,
    Thinking,
}

impl Encoder {
    pub(crate) fn new(_style: ResponseStyle) -> Self {
        Self {
            blocks: 0,
            open: None,
            calls: Vec::new(),
            stop: None,
            usage: TokenUsage::default(),
        }
    }

    fn start_block(&mut self, block: &Value, out: &mut FrameWriter) -> usize {
        let index = self.blocks;
        self.blocks += 1;
        send(
            "content_block_start",
            json!({ "index": index, "content_block": block }),
            out,
        );
        index
    }

    fn delta(&self, index: usize, delta: &Value, out: &mut FrameWriter) {
        send(
            "content_block_delta",
            json!({ "index": index, "delta": delta }),
            out,
        );
    }

    /// Ends the open block of text or reasoning.
    fn close(&mut self, out: &mut FrameWriter) {
        if self.open.take().is_some() {
            send(
                "content_block_stop",
                json!({ "index": self.blocks - 1 }),
                out,
            );
        }
    }

    /// Ensures that a block of this kind is open, and returns its index.
    fn ensure(&mut self, kind: OpenBlock, out: &mut FrameWriter) -> usize {
        if self.open == Some(kind) {
            return self.blocks - 1;
        }
        self.close(out);
        self.open = Some(kind);
        let block = match kind {
            OpenBlock::Text => json!({ "type": "text", "text": "" }),
            OpenBlock::Thinking => json!({ "type": "thinking", "thinking": "", "signature": "" }),
        };
        self.start_block(&block, out)
    }

    fn thinking_end(&mut self, signature: Option<&str>, redacted: bool, out: &mut FrameWriter) {
        if redacted {
            self.close(out);
            let block =
                json!({ "type": "redacted_thinking", "data": signature.unwrap_or_default() });
            let index = self.start_block(&block, out);
            send("content_block_stop", json!({ "index": index }), out);
            return;
        }
        if let Some(signature) = signature {
            let index = self.ensure(OpenBlock::Thinking, out);
            let delta = json!({ "type": "signature_delta", "signature": signature });
            self.delta(index, &delta, out);
        }
        if self.open == Some(OpenBlock::Thinking) {
            self.close(out);
        }
    }

    fn call_start(
        &mut self,
        index: usize,
        id: &str,
        name: &str,
        kind: ToolInputKind,
        out: &mut FrameWriter,
    ) {
        self.close(out);
        let block = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
        let block = self.start_block(&block, out);
        self.calls.push(OpenCall {
            index,
            block: Some(block),
            kind,
        });
        if kind == ToolInputKind::Freeform {
            self.input(block, r#"{"input":""#, out);
        }
    }

    /// Adds input to a call. Plain text is sent as the only string of an object, escaped chunk by chunk.
    fn call_delta(&mut self, index: usize, input: &str, out: &mut FrameWriter) {
        let Some(call) = self.calls.iter().find(|call| call.index == index) else {
            return;
        };
        match (call.block, call.kind) {
            (Some(block), ToolInputKind::Function) => self.input(block, input, out),
            (Some(block), ToolInputKind::Freeform) => {
                let quoted = Value::from(input).to_string();
                let escaped = quoted.get(1..quoted.len() - 1).unwrap_or_default();
                self.input(block, escaped, out);
            }
            (None, _) => {}
        }
    }

    fn input(&self, block: usize, json: &str, out: &mut FrameWriter) {
        let delta = json!({ "type": "input_json_delta", "partial_json": json });
        self.delta(block, &delta, out);
    }

    fn call_end(&mut self, index: usize, out: &mut FrameWriter) {
        let found = self.calls.iter_mut().find(|call| call.index == index);
        let Some((block, kind)) = found.and_then(|call| Some((call.block.take()?, call.kind)))
        else {
            return;
        };
        if kind == ToolInputKind::Freeform {
            self.input(block, r#""}"#, out);
        }
        send("content_block_stop", json!({ "index": block }), out);
    }

    fn done(&mut self, out: &mut FrameWriter) {
        self.close(out);
        for call in self.calls.clone() {
            self.call_end(call.index, out);
        }
        let implied = if self.calls.is_empty() {
            StopReason::EndTurn
        } else {
            StopReason::ToolUse
        };
        let delta = json!({
            "stop_reason": stop_reason(self.stop.unwrap_or(implied)),
            "stop_sequence": null,
        });
        let usage = usage_json(&self.usage);
        send(
            "message_delta",
            json!({ "delta": delta, "usage": usage }),
            out,
        );
        send("message_stop", json!({}), out);
    }
}

impl Encode for Encoder {
    fn event(&mut self, event: &ModelEvent, out: &mut FrameWriter) {
        match event {
            ModelEvent::Start { id, model } => {
                let message = message(id, model, Vec::new()).set("usage", usage_json(&self.usage));
                send("message_start", json!({ "message": message.build() }), out);
            }
            ModelEvent::TextDelta { text } => {
                let index = self.ensure(OpenBlock::Text, out);
                self.delta(index, &json!({ "type": "text_delta", "text": text }), out);
            }
            ModelEvent::ReasoningDelta { text } => {
                let index = self.ensure(OpenBlock::Thinking, out);
                let delta = json!({ "type": "thinking_delta", "thinking": text });
                self.delta(index, &delta, out);
            }
            ModelEvent::ReasoningEnd {
                signature,
                redacted,
            } => self.thinking_end(signature.as_deref(), *redacted, out),
            ModelEvent::ToolCallStart {
                index,
                id,
                name,
                kind,
                ..
            } => self.call_start(*index, id, name, *kind, out),
            ModelEvent::ToolCallDelta { index, input } => self.call_delta(*index, input, out),
            ModelEvent::ToolCallEnd { index } => self.call_end(*index, out),
            ModelEvent::Opaque(opaque) => {
                if opaque.dialect == crate::Dialect::Messages {
                    self.close(out);
                    let index = self.start_block(&opaque.value, out);
                    send("content_block_stop", json!({ "index": index }), out);
                }
            }
            ModelEvent::Usage(usage) => self.usage = *usage,
            ModelEvent::Stop { reason } => self.stop = Some(*reason),
            ModelEvent::Error(failure) => out.send_named("error", &error::render(failure)),
            ModelEvent::Done => self.done(out),
        }
    }
}

/// Sends an event. Its name is also in its data.
fn send(name: &str, mut data: Value, out: &mut FrameWriter) {
    data["type"] = name.into();
    out.send_named(name, &data);
}

fn message(id: &str, model: &str, content: Vec<Value>) -> ObjectBuilder {
    ObjectBuilder::new()
        .set("id", id)
        .set("type", "message")
        .set("role", "assistant")
        .set("model", model)
        .set("content", content)
        .set("stop_reason", Value::Null)
        .set("stop_sequence", Value::Null)
}

/// Encodes a complete response.
pub(crate) fn encode_body(response: &ModelResponse, _style: ResponseStyle) -> Value {
    let content = response.parts.iter().filter_map(block).collect();
    message(&response.id, &response.model, content)
        .set("stop_reason", stop_reason(response.stop_or_implied()))
        .set("usage", usage_json(&response.usage.unwrap_or_default()))
        .build()
}

fn block(part: &Part) -> Option<Value> {
    Some(match part {
        Part::Text(text) => json!({ "type": "text", "text": text.text }),
        Part::Reasoning(reasoning) => thinking(reasoning),
        Part::ToolCall(call) => json!({
            "type": "tool_use",
            "id": call.id,
            "name": call.name,
            "input": call.input_object(),
        }),
        Part::Opaque(opaque) => opaque.value.clone(),
        Part::Image(_) | Part::ToolResult(_) => return None,
    })
}

fn thinking(reasoning: &Reasoning) -> Value {
    let signature = reasoning.signature.as_deref().unwrap_or_default();
    if reasoning.redacted {
        json!({ "type": "redacted_thinking", "data": signature })
    } else {
        json!({ "type": "thinking", "thinking": reasoning.text, "signature": signature })
    }
}

fn stop_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::StopSequence => "stop_sequence",
        StopReason::Refusal => "refusal",
        StopReason::Pause => "pause_turn",
    }
}

/// Renders the usage. Anthropic counts tokens from and to the cache separately.
fn usage_json(usage: &TokenUsage) -> Value {
    let cached = usage
        .cache_read_tokens
        .saturating_add(usage.cache_write_tokens);
    json!({
        "input_tokens": usage.input_tokens.saturating_sub(cached),
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "output_tokens": usage.output_tokens,
        "output_tokens_details": { "thinking_tokens": usage.reasoning_tokens },
    })
}
