//! Ollama: encoding of events as a response.

use serde_json::{Value, json};

use super::error;
use crate::codec::Encode;
use crate::frame::FrameWriter;
use crate::json::ObjectBuilder;
use crate::time::rfc3339;
use crate::tool_calls::CallBuffer;
use crate::{ModelEvent, ModelResponse, Part, ResponseStyle, StopReason, TokenUsage, ToolCall};

/// Encodes the lines of one response.
#[derive(Debug)]
pub(crate) struct Encoder {
    created: String,
    model: String,
    calls: CallBuffer,
    stop: Option<StopReason>,
    usage: TokenUsage,
}

impl Encoder {
    pub(crate) fn new(style: ResponseStyle) -> Self {
        Self {
            created: rfc3339(style.created),
            model: String::new(),
            calls: CallBuffer::default(),
            stop: None,
            usage: TokenUsage::default(),
        }
    }

    fn line(&self, message: ObjectBuilder, out: &mut FrameWriter) {
        let line = envelope(&self.model, &self.created, message).set("done", false);
        out.send(&line.build());
    }

    fn send_calls(&self, calls: Vec<ToolCall>, out: &mut FrameWriter) {
        for call in calls {
            self.line(message("").set("tool_calls", vec![call_json(&call)]), out);
        }
    }

    fn done(&mut self, out: &mut FrameWriter) {
        let left = self.calls.drain();
        self.send_calls(left, out);
        let stop = self.stop.unwrap_or(StopReason::EndTurn);
        let line = envelope(&self.model, &self.created, message(""));
        out.send(&end(line, stop, &self.usage).build());
    }
}

impl Encode for Encoder {
    fn event(&mut self, event: &ModelEvent, out: &mut FrameWriter) {
        match event {
            ModelEvent::Start { model, .. } => self.model.clone_from(model),
            ModelEvent::TextDelta { text } => self.line(message(text), out),
            ModelEvent::ReasoningDelta { text } => {
                self.line(message("").set("thinking", text.as_str()), out);
            }
            ModelEvent::ToolCallStart {
                index,
                id,
                name,
                kind,
                ..
            } => {
                let call = ToolCall {
                    id: id.clone(),
                    name: name.clone(),
                    kind: *kind,
                    ..ToolCall::default()
                };
                self.calls.start(*index, call);
            }
            ModelEvent::ToolCallDelta { index, input } => self.calls.push_input(*index, input),
            ModelEvent::ToolCallEnd { index } => {
                let ready = self.calls.finish(*index);
                self.send_calls(ready, out);
            }
            ModelEvent::Usage(usage) => self.usage = *usage,
            ModelEvent::Stop { reason } => self.stop = Some(*reason),
            ModelEvent::Error(failure) => out.send(&error::render(failure)),
            ModelEvent::Done => self.done(out),
            // Not supported by this API: signatures, and values of other APIs.
            ModelEvent::ReasoningEnd { .. } | ModelEvent::Opaque(_) => {}
        }
    }
}

/// Encodes a complete response.
pub(crate) fn encode_body(response: &ModelResponse, style: ResponseStyle) -> Value {
    let reasoning = response.parts.iter().find_map(|part| match part {
        Part::Reasoning(reasoning) => Some(reasoning.text.as_str()),
        _ => None,
    });
    let message = message(&response.text())
        .set_opt("thinking", reasoning)
        .set_list("tool_calls", response.calls().map(call_json).collect());
    let envelope = envelope(&response.model, &rfc3339(style.created), message);
    end(
        envelope,
        response.stop_or_implied(),
        &response.usage.unwrap_or_default(),
    )
    .build()
}

fn message(text: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .set("role", "assistant")
        .set("content", text)
}

fn envelope(model: &str, created: &str, message: ObjectBuilder) -> ObjectBuilder {
    ObjectBuilder::new()
        .set("model", model)
        .set("created_at", created)
        .set("message", message)
}

/// Adds the fields of the last line. Its durations are zero: this crate has no clock, and no client depends
/// on them.
fn end(envelope: ObjectBuilder, stop: StopReason, usage: &TokenUsage) -> ObjectBuilder {
    let reason = match stop {
        StopReason::MaxTokens => "length",
        _ => "stop",
    };
    envelope
        .set("done", true)
        .set("done_reason", reason)
        .set("total_duration", 0)
        .set("load_duration", 0)
        .set("prompt_eval_count", usage.input_tokens)
        .set("prompt_eval_duration", 0)
        .set("eval_count", usage.output_tokens)
        .set("eval_duration", 0)
}

fn call_json(call: &ToolCall) -> Value {
    json!({
        "id": call.id,
        "function": { "name": call.name, "arguments": call.input_object() },
    })
}
