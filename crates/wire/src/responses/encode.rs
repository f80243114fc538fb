//! Responses: encoding of events as a response.

use serde_json::{Value, json};

use super::items::{OutputItems, call_item, message_item, reasoning_item};
use super::{error, items};
use crate::codec::Encode;
use crate::frame::FrameWriter;
use crate::json::ObjectBuilder;
use crate::{
    Dialect, ModelError, ModelEvent, ModelResponse, Part, ResponseStyle, StopReason, TokenUsage,
};

/// Encodes the numbered events of one response.
#[derive(Debug)]
pub(crate) struct Encoder {
    style: ResponseStyle,
    model: String,
    output: OutputItems,
    stop: Option<StopReason>,
    usage: Option<TokenUsage>,
}

impl Encoder {
    pub(crate) fn new(style: ResponseStyle) -> Self {
        Self {
            style,
            model: String::new(),
            output: OutputItems::default(),
            stop: None,
            usage: None,
        }
    }

    fn response(&self, status: &str) -> ObjectBuilder {
        response(self.output.id(), &self.model, self.style, status)
            .set("output", self.output.items())
            .set("usage", self.usage.as_ref().map(usage_json))
    }

    fn start(&mut self, out: &mut FrameWriter) {
        for name in ["response.created", "response.in_progress"] {
            let response = self.response("in_progress").build();
            self.output.send(name, json!({ "response": response }), out);
        }
    }

    fn done(&mut self, out: &mut FrameWriter) {
        self.output.close_all(out);
        let (status, details) = status(self.stop.unwrap_or(StopReason::EndTurn));
        let response = self
            .response(status)
            .set("incomplete_details", details)
            .build();
        let name = format!("response.{status}");
        self.output
            .send(&name, json!({ "response": response }), out);
    }

    fn fail(&mut self, failure: &ModelError, out: &mut FrameWriter) {
        let response = self
            .response("failed")
            .set("error", error::in_response(failure))
            .build();
        self.output
            .send("response.failed", json!({ "response": response }), out);
    }
}

impl Encode for Encoder {
    fn event(&mut self, event: &ModelEvent, out: &mut FrameWriter) {
        match event {
            ModelEvent::Start { id, model } => {
                self.output.set_id(id);
                self.model.clone_from(model);
                self.start(out);
            }
            ModelEvent::TextDelta { text } => self.output.text(text, out),
            ModelEvent::ReasoningDelta { text } => self.output.push_reasoning(text, out),
            ModelEvent::ReasoningEnd {
                signature,
                redacted,
            } => {
                if *redacted {
                    // Withheld reasoning is a separate item.
                    self.output.end_reasoning(None, out);
                }
                self.output.end_reasoning(signature.as_deref(), out);
            }
            ModelEvent::ToolCallStart {
                index,
                id,
                name,
                kind,
                ..
            } => self.output.call(*index, id, name, *kind, out),
            ModelEvent::ToolCallDelta { index, input } => {
                self.output.call_input(*index, input, out);
            }
            ModelEvent::ToolCallEnd { index } => self.output.call_end(*index, out),
            ModelEvent::Opaque(opaque) => {
                if opaque.dialect == Dialect::Responses {
                    self.output.opaque(&opaque.value, out);
                }
            }
            ModelEvent::Usage(usage) => self.usage = Some(*usage),
            ModelEvent::Stop { reason } => self.stop = Some(*reason),
            ModelEvent::Error(failure) => self.fail(failure, out),
            ModelEvent::Done => self.done(out),
        }
    }
}

/// Encodes a complete response.
pub(crate) fn encode_body(model_response: &ModelResponse, style: ResponseStyle) -> Value {
    let (status, details) = status(model_response.stop_or_implied());
    let parts = model_response.parts.iter().enumerate();
    let output: Vec<Value> = parts
        .filter_map(|(at, part)| item(&model_response.id, at, part))
        .collect();
    response(&model_response.id, &model_response.model, style, status)
        .set("output", output)
        .set("usage", model_response.usage.as_ref().map(usage_json))
        .set("incomplete_details", details)
        .build()
}

fn item(response: &str, at: usize, part: &Part) -> Option<Value> {
    let id = |prefix: &str| items::item_id(response, prefix, at);
    Some(match part {
        Part::Text(text) => message_item(&id("msg"), &text.text),
        Part::Reasoning(reasoning) => {
            reasoning_item(&id("rs"), &reasoning.text, reasoning.signature.as_deref())
        }
        Part::ToolCall(call) => call_item(&id(items::call_prefix(call.kind)), call, "completed"),
        Part::Opaque(opaque) => opaque.value.clone(),
        Part::Image(_) | Part::ToolResult(_) => return None,
    })
}

/// Sets the fields that every response has, even if empty: the official clients require them.
fn response(id: &str, model: &str, style: ResponseStyle, status: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .set("id", id)
        .set("object", "response")
        .set("created_at", style.created)
        .set("status", status)
        .set("error", Value::Null)
        .set("incomplete_details", Value::Null)
        .set("instructions", Value::Null)
        .set("metadata", json!({}))
        .set("model", model)
        .set("output", json!([]))
        .set("parallel_tool_calls", true)
        .set("temperature", Value::Null)
        .set("tool_choice", "auto")
        .set("tools", json!([]))
        .set("top_p", Value::Null)
}

fn status(stop: StopReason) -> (&'static str, Value) {
    match stop {
        StopReason::MaxTokens => ("incomplete", json!({ "reason": "max_output_tokens" })),
        StopReason::Refusal => ("incomplete", json!({ "reason": "content_filter" })),
        _ => ("completed", Value::Null),
    }
}

fn usage_json(usage: &TokenUsage) -> Value {
    json!({
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning_tokens },
        "total_tokens": usage.total_tokens(),
    })
}
