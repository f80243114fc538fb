//! Chat completions: encoding of events as a response.

use serde_json::{Value, json};

use super::error;
use crate::codec::Encode;
use crate::frame::FrameWriter;
use crate::json::ObjectBuilder;
use crate::{
    ModelEvent, ModelResponse, Part, ResponseStyle, StopReason, TokenUsage, ToolCall, ToolInputKind,
};

/// Encodes the chunks of one response.
#[derive(Debug)]
pub(crate) struct Encoder {
    style: ResponseStyle,
    id: String,
    model: String,
    /// The index and the kind of each call so far.
    calls: Vec<(usize, ToolInputKind)>,
    stop: Option<StopReason>,
    usage: Option<TokenUsage>,
}

impl Encoder {
    pub(crate) fn new(style: ResponseStyle) -> Self {
        Self {
            style,
            id: String::new(),
            model: String::new(),
            calls: Vec::new(),
            stop: None,
            usage: None,
        }
    }

    fn chunk(&self, choices: Value) -> ObjectBuilder {
        ObjectBuilder::new()
            .set("id", self.id.as_str())
            .set("object", "chat.completion.chunk")
            .set("created", self.style.created)
            .set("model", self.model.as_str())
            .set("choices", choices)
    }

    fn delta(&self, delta: Value, out: &mut FrameWriter) {
        let choice = json!([{ "index": 0, "delta": delta, "finish_reason": null }]);
        out.send(&self.chunk(choice).build());
    }

    fn call(&self, index: usize, call: Value, out: &mut FrameWriter) {
        let mut call = call;
        call["index"] = index.into();
        self.delta(json!({ "tool_calls": [call] }), out);
    }

    fn input(&self, index: usize, input: &str, out: &mut FrameWriter) {
        let call = if self.calls.contains(&(index, ToolInputKind::Freeform)) {
            json!({ "custom": { "input": input } })
        } else {
            json!({ "function": { "arguments": input } })
        };
        self.call(index, call, out);
    }

    fn done(&self, out: &mut FrameWriter) {
        let implied = if self.calls.is_empty() {
            StopReason::EndTurn
        } else {
            StopReason::ToolUse
        };
        let reason = finish_reason(self.stop.unwrap_or(implied));
        let choice = json!([{ "index": 0, "delta": {}, "finish_reason": reason }]);
        out.send(&self.chunk(choice).build());
        if let (true, Some(usage)) = (self.style.stream_usage, &self.usage) {
            let chunk = self.chunk(json!([])).set("usage", usage_json(usage));
            out.send(&chunk.build());
        }
        out.send_raw("[DONE]");
    }
}

impl Encode for Encoder {
    fn event(&mut self, event: &ModelEvent, out: &mut FrameWriter) {
        match event {
            ModelEvent::Start { id, model } => {
                self.id.clone_from(id);
                self.model.clone_from(model);
                self.delta(json!({ "role": "assistant", "content": "" }), out);
            }
            ModelEvent::TextDelta { text } => self.delta(json!({ "content": text }), out),
            ModelEvent::ReasoningDelta { text } => {
                self.delta(json!({ "reasoning_content": text }), out);
            }
            ModelEvent::ToolCallStart {
                index,
                id,
                name,
                kind,
                ..
            } => {
                self.calls.push((*index, *kind));
                let call = ToolCall {
                    id: id.clone(),
                    name: name.clone(),
                    kind: *kind,
                    ..ToolCall::default()
                };
                self.call(*index, call_json(&call), out);
            }
            ModelEvent::ToolCallDelta { index, input } => self.input(*index, input, out),
            ModelEvent::Usage(usage) => self.usage = Some(*usage),
            ModelEvent::Stop { reason } => self.stop = Some(*reason),
            ModelEvent::Error(failure) => out.send(&error::render(failure)),
            ModelEvent::Done => self.done(out),
            // Not supported by this API: signatures, the end of one call, and values of other APIs.
            ModelEvent::ReasoningEnd { .. }
            | ModelEvent::ToolCallEnd { .. }
            | ModelEvent::Opaque(_) => {}
        }
    }
}

/// Encodes a complete response.
pub(crate) fn encode_body(response: &ModelResponse, style: ResponseStyle) -> Value {
    let text = response.text();
    let reasoning = response.parts.iter().find_map(|part| match part {
        Part::Reasoning(reasoning) => Some(reasoning.text.as_str()),
        _ => None,
    });
    let content = (!text.is_empty() || response.calls().next().is_none()).then_some(text);
    let message = ObjectBuilder::new()
        .set("role", "assistant")
        .set("content", content)
        .set_opt("reasoning_content", reasoning)
        .set("refusal", Value::Null)
        .set_list("tool_calls", response.calls().map(call_json).collect());
    let choice = ObjectBuilder::new()
        .set("index", 0)
        .set("message", message)
        .set("finish_reason", finish_reason(response.stop_or_implied()))
        .set("logprobs", Value::Null);
    ObjectBuilder::new()
        .set("id", response.id.as_str())
        .set("object", "chat.completion")
        .set("created", style.created)
        .set("model", response.model.as_str())
        .set("choices", vec![choice.build()])
        .set_opt("usage", response.usage.as_ref().map(usage_json))
        .build()
}

fn call_json(call: &ToolCall) -> Value {
    match call.kind {
        ToolInputKind::Function => json!({
            "id": call.id,
            "type": "function",
            "function": { "name": call.name, "arguments": call.input },
        }),
        ToolInputKind::Freeform => json!({
            "id": call.id,
            "type": "custom",
            "custom": { "name": call.name, "input": call.input },
        }),
    }
}

fn finish_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::EndTurn | StopReason::StopSequence | StopReason::Pause => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::MaxTokens => "length",
        StopReason::Refusal => "content_filter",
    }
}

fn usage_json(usage: &TokenUsage) -> Value {
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens(),
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning_tokens },
    })
}
