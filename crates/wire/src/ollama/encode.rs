//! Ollama: an answer from its events.

use serde_json::{Value, json};

use super::error;
use crate::calls::WholeCalls;
use crate::frame::Frames;
use crate::json::Object;
use crate::stream::Encode;
use crate::time::rfc3339;
use crate::{AnswerStyle, ModelEvent, ModelResponse, Part, StopReason, ToolCall, Usage};

/// Writes the lines of one answer.
#[derive(Debug)]
pub(crate) struct Encoder {
    created: String,
    model: String,
    calls: WholeCalls,
    stop: Option<StopReason>,
    usage: Usage,
}

impl Encoder {
    pub(crate) fn new(style: AnswerStyle) -> Self {
        Self {
            created: rfc3339(style.created),
            model: String::new(),
            calls: WholeCalls::default(),
            stop: None,
            usage: Usage::default(),
        }
    }

    fn line(&self, message: Object, out: &mut Frames) {
        let line = answer(&self.model, &self.created, message).set("done", false);
        out.send(&line.value());
    }

    fn send_calls(&self, calls: Vec<ToolCall>, out: &mut Frames) {
        for call in calls {
            self.line(message("").set("tool_calls", vec![call_json(&call)]), out);
        }
    }

    fn done(&mut self, out: &mut Frames) {
        let left = self.calls.rest();
        self.send_calls(left, out);
        let stop = self.stop.unwrap_or(StopReason::EndTurn);
        let line = answer(&self.model, &self.created, message(""));
        out.send(&end(line, stop, &self.usage).value());
    }
}

impl Encode for Encoder {
    fn event(&mut self, event: &ModelEvent, out: &mut Frames) {
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
            ModelEvent::ToolCallDelta { index, input } => self.calls.input(*index, input),
            ModelEvent::ToolCallEnd { index } => {
                let ready = self.calls.end(*index);
                self.send_calls(ready, out);
            }
            ModelEvent::Usage(usage) => self.usage = *usage,
            ModelEvent::Stop { reason } => self.stop = Some(*reason),
            ModelEvent::Error(failure) => out.send(&error::render(failure)),
            ModelEvent::Done => self.done(out),
            // Without a word here: signatures, and what other APIs add.
            ModelEvent::ReasoningEnd { .. } | ModelEvent::Opaque(_) => {}
        }
    }
}

/// A whole answer.
pub(crate) fn whole(response: &ModelResponse, style: AnswerStyle) -> Value {
    let thought = response.parts.iter().find_map(|part| match part {
        Part::Reasoning(reasoning) => Some(reasoning.text.as_str()),
        _ => None,
    });
    let said = message(&response.text())
        .maybe("thinking", thought)
        .list("tool_calls", response.calls().map(call_json).collect());
    let answer = answer(&response.model, &rfc3339(style.created), said);
    end(
        answer,
        response.stop_or_implied(),
        &response.usage.unwrap_or_default(),
    )
    .value()
}

fn message(text: &str) -> Object {
    Object::new().set("role", "assistant").set("content", text)
}

fn answer(model: &str, created: &str, message: Object) -> Object {
    Object::new()
        .set("model", model)
        .set("created_at", created)
        .set("message", message)
}

/// The last line. Its durations are zero: nothing here has a clock, and no client decides by them.
fn end(answer: Object, stop: StopReason, usage: &Usage) -> Object {
    let reason = match stop {
        StopReason::MaxTokens => "length",
        _ => "stop",
    };
    answer
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
