//! Chat completions: decoding of responses into events.

use serde_json::Value;

use super::error;
use crate::codec::Decode;
use crate::json;
use crate::lenient::{MAX_CALLS, check_limit, count, list, text};
use crate::{ModelError, ModelEvent, StopReason, TokenUsage, ToolInputKind};

/// Decodes the chunks of one response. Of several choices only the first is read, because more are never
/// requested.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    started: bool,
    /// The server's index of each call, in order of appearance. Calls end with the response, because
    /// fragments may interleave.
    calls: Vec<u64>,
    refused: bool,
    stop: Option<StopReason>,
}

impl Decode for Decoder {
    fn frame(
        &mut self,
        _name: &[u8],
        data: &[u8],
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        if data == b"[DONE]" {
            return self.end(out);
        }
        let chunk = json::parse(data).map_err(ModelError::protocol)?;
        self.chunk(&chunk, "delta", out)
    }

    /// Ends the response. Some servers omit `[DONE]`; a stop reason is sufficient.
    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let reason = self.stop.ok_or_else(ModelError::interrupted)?;
        out.extend((0..self.calls.len()).map(|index| ModelEvent::ToolCallEnd { index }));
        out.push(ModelEvent::Stop { reason });
        out.push(ModelEvent::Done);
        Ok(())
    }
}

/// Decodes a complete response, which is one chunk with another key for its message.
pub(crate) fn decode_body(body: Value) -> Result<Vec<ModelEvent>, ModelError> {
    let mut decoder = Decoder::default();
    let mut out = Vec::new();
    decoder.chunk(&body, "message", &mut out)?;
    decoder.end(&mut out)?;
    Ok(out)
}

impl Decoder {
    fn chunk(
        &mut self,
        chunk: &Value,
        key: &str,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        if chunk.get("error").is_some_and(|e| !e.is_null()) {
            return Err(failure(chunk));
        }
        if !std::mem::replace(&mut self.started, true) {
            out.push(ModelEvent::Start {
                id: text(chunk, "id").to_owned(),
                model: text(chunk, "model").to_owned(),
            });
        }
        for choice in list(chunk, "choices").iter().take(1) {
            if let Some(message) = choice.get(key) {
                self.message(message, out)?;
            }
            self.finish(text(choice, "finish_reason"));
        }
        if let Some(found) = chunk.get("usage").filter(|usage| usage.is_object()) {
            out.push(ModelEvent::Usage(usage(found)));
        }
        Ok(())
    }

    fn message(&mut self, message: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let reasoning = match text(message, "reasoning_content") {
            "" => text(message, "reasoning"),
            reasoning => reasoning,
        };
        if !reasoning.is_empty() {
            out.push(ModelEvent::ReasoningDelta {
                text: reasoning.to_owned(),
            });
        }
        let refusal = text(message, "refusal");
        self.refused |= !refusal.is_empty();
        for content in [text(message, "content"), refusal] {
            if !content.is_empty() {
                out.push(ModelEvent::TextDelta {
                    text: content.to_owned(),
                });
            }
        }
        for (position, call) in list(message, "tool_calls").iter().enumerate() {
            self.call(position, call, out);
        }
        check_limit(MAX_CALLS, self.calls.len(), "calls")
    }

    fn call(&mut self, position: usize, call: &Value, out: &mut Vec<ModelEvent>) {
        let number = call.get("index").and_then(Value::as_u64);
        let number = number.unwrap_or(position as u64);
        let (kind, inner, key) = match call.get("custom") {
            Some(inner) => (ToolInputKind::Freeform, Some(inner), "input"),
            None => (ToolInputKind::Function, call.get("function"), "arguments"),
        };
        let inner = inner.unwrap_or(&Value::Null);
        let known = self.calls.iter().position(|n| *n == number);
        let index = known.unwrap_or(self.calls.len());
        if known.is_none() {
            self.calls.push(number);
            out.push(ModelEvent::ToolCallStart {
                index,
                id: text(call, "id").to_owned(),
                name: text(inner, "name").to_owned(),
                kind,
                signature: None,
            });
        }
        let input = text(inner, key);
        if !input.is_empty() {
            out.push(ModelEvent::ToolCallDelta {
                index,
                input: input.to_owned(),
            });
        }
    }

    fn finish(&mut self, reason: &str) {
        let reason = match reason {
            "" => return,
            "length" => StopReason::MaxTokens,
            "tool_calls" | "function_call" => StopReason::ToolUse,
            "content_filter" => StopReason::Refusal,
            _ if self.refused => StopReason::Refusal,
            _ => StopReason::EndTurn,
        };
        self.stop = Some(reason);
    }
}

/// Parses an error inside a stream. It has no status, but some servers put one into `code`.
fn failure(chunk: &Value) -> ModelError {
    let status = chunk.pointer("/error/code").and_then(Value::as_u64);
    if let Some(status) = status.and_then(|code| u16::try_from(code).ok()) {
        return error::parse(status, chunk);
    }
    let error_type = chunk.pointer("/error/type").and_then(Value::as_str);
    let guess = if error_type == Some("invalid_request_error") {
        400
    } else {
        500
    };
    let found = error::parse(guess, chunk);
    ModelError {
        status: found.kind.status(),
        ..found
    }
}

pub(crate) fn usage(usage: &Value) -> TokenUsage {
    TokenUsage {
        input_tokens: count(usage, "/prompt_tokens"),
        output_tokens: count(usage, "/completion_tokens"),
        cache_read_tokens: count(usage, "/prompt_tokens_details/cached_tokens"),
        cache_write_tokens: count(usage, "/prompt_tokens_details/cache_write_tokens"),
        reasoning_tokens: count(usage, "/completion_tokens_details/reasoning_tokens"),
    }
    .with_consistent_totals()
}
