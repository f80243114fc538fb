//! Gemini: encoding of events as a response.

use serde_json::{Value, json};

use super::error;
use crate::codec::Encode;
use crate::frame::FrameWriter;
use crate::json::ObjectBuilder;
use crate::tool_calls::CallBuffer;
use crate::{
    Dialect, ModelEvent, ModelResponse, Part, ResponseStyle, StopReason, TokenUsage, ToolCall,
};

/// Encodes the chunks of one response.
#[derive(Debug)]
pub(crate) struct Encoder {
    id: String,
    model: String,
    calls: CallBuffer,
    stop: Option<StopReason>,
    usage: Option<TokenUsage>,
}

impl Encoder {
    pub(crate) fn new(_style: ResponseStyle) -> Self {
        Self {
            id: String::new(),
            model: String::new(),
            calls: CallBuffer::default(),
            stop: None,
            usage: None,
        }
    }

    fn part(&self, part: Value, out: &mut FrameWriter) {
        let candidate = candidate(vec![part]);
        out.send(&envelope(&self.id, &self.model, candidate).build());
    }

    fn send_calls(&self, calls: Vec<ToolCall>, out: &mut FrameWriter) {
        for call in calls {
            self.part(call_json(&call), out);
        }
    }

    fn done(&mut self, out: &mut FrameWriter) {
        let left = self.calls.drain();
        self.send_calls(left, out);
        let reason = finish_reason(self.stop.unwrap_or(StopReason::EndTurn));
        let candidate = candidate(vec![json!({ "text": "" })]).set("finishReason", reason);
        let chunk = envelope(&self.id, &self.model, candidate)
            .set_opt("usageMetadata", self.usage.as_ref().map(usage_json));
        out.send(&chunk.build());
    }
}

impl Encode for Encoder {
    fn event(&mut self, event: &ModelEvent, out: &mut FrameWriter) {
        match event {
            ModelEvent::Start { id, model } => {
                self.id.clone_from(id);
                self.model.clone_from(model);
            }
            ModelEvent::TextDelta { text } => self.part(json!({ "text": text }), out),
            ModelEvent::ReasoningDelta { text } => {
                self.part(json!({ "text": text, "thought": true }), out);
            }
            ModelEvent::ReasoningEnd {
                signature: Some(signature),
                ..
            } => {
                let part = json!({ "text": "", "thought": true, "thoughtSignature": signature });
                self.part(part, out);
            }
            ModelEvent::ReasoningEnd { .. } => {}
            ModelEvent::ToolCallStart {
                index,
                id,
                name,
                kind,
                signature,
            } => {
                let call = ToolCall {
                    id: id.clone(),
                    name: name.clone(),
                    kind: *kind,
                    signature: signature.clone(),
                    ..ToolCall::default()
                };
                self.calls.start(*index, call);
            }
            ModelEvent::ToolCallDelta { index, input } => self.calls.push_input(*index, input),
            ModelEvent::ToolCallEnd { index } => {
                let ready = self.calls.finish(*index);
                self.send_calls(ready, out);
            }
            ModelEvent::Opaque(opaque) => {
                if opaque.dialect == Dialect::Gemini {
                    self.part(opaque.value.clone(), out);
                }
            }
            ModelEvent::Usage(usage) => self.usage = Some(*usage),
            ModelEvent::Stop { reason } => self.stop = Some(*reason),
            ModelEvent::Error(failure) => out.send(&error::render(failure)),
            ModelEvent::Done => self.done(out),
        }
    }
}

/// Encodes a complete response.
pub(crate) fn encode_body(response: &ModelResponse, _style: ResponseStyle) -> Value {
    let parts = response.parts.iter().filter_map(part).collect();
    let reason = finish_reason(response.stop_or_implied());
    let candidate = candidate(parts).set("finishReason", reason);
    envelope(&response.id, &response.model, candidate)
        .set_opt("usageMetadata", response.usage.as_ref().map(usage_json))
        .build()
}

fn part(part: &Part) -> Option<Value> {
    Some(match part {
        Part::Text(text) => json!({ "text": text.text }),
        Part::Reasoning(reasoning) => ObjectBuilder::new()
            .set("text", reasoning.text.as_str())
            .set("thought", true)
            .set_opt("thoughtSignature", reasoning.signature.as_deref())
            .build(),
        Part::ToolCall(call) => call_json(call),
        Part::Opaque(opaque) => opaque.value.clone(),
        Part::Image(_) | Part::ToolResult(_) => return None,
    })
}

fn call_json(call: &ToolCall) -> Value {
    let inner = json!({ "id": call.id, "name": call.name, "args": call.input_object() });
    ObjectBuilder::new()
        .set("functionCall", inner)
        .set_opt("thoughtSignature", call.signature.as_deref())
        .build()
}

fn candidate(parts: Vec<Value>) -> ObjectBuilder {
    let content = json!({ "role": "model", "parts": parts });
    ObjectBuilder::new().set("content", content).set("index", 0)
}

fn envelope(id: &str, model: &str, candidate: ObjectBuilder) -> ObjectBuilder {
    ObjectBuilder::new()
        .set("candidates", vec![candidate.build()])
        .set("modelVersion", model)
        .set("responseId", id)
}

fn finish_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::MaxTokens => "MAX_TOKENS",
        StopReason::Refusal => "SAFETY",
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::Pause => "STOP",
    }
}

/// Renders the usage. Gemini counts reasoning separately from the rest of the output.
fn usage_json(usage: &TokenUsage) -> Value {
    json!({
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens.saturating_sub(usage.reasoning_tokens),
        "totalTokenCount": usage.total_tokens(),
        "cachedContentTokenCount": usage.cache_read_tokens,
        "thoughtsTokenCount": usage.reasoning_tokens,
    })
}
