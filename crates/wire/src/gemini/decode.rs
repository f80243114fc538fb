//! Gemini: decoding of responses into events.

use serde_json::Value;

use super::error;
use crate::codec::Decode;
use crate::json;
use crate::lenient::{count, list, text};
use crate::response::call_events;
use crate::{Dialect, ModelError, ModelEvent, Opaque, StopReason, TokenUsage, ToolCall};

/// Decodes the chunks of one response. Of several candidates only the first is read, because more are never
/// requested.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    id: Option<String>,
    calls: usize,
    stop: Option<StopReason>,
}

impl Decode for Decoder {
    fn frame(
        &mut self,
        _name: &[u8],
        data: &[u8],
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let chunk = json::parse(data).map_err(ModelError::protocol)?;
        self.chunk(&chunk, out)
    }

    /// Ends the response. No frame is marked as the last; a stop reason is sufficient.
    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let reason = match self.stop.ok_or_else(ModelError::interrupted)? {
            StopReason::EndTurn if self.calls > 0 => StopReason::ToolUse,
            other => other,
        };
        out.push(ModelEvent::Stop { reason });
        out.push(ModelEvent::Done);
        Ok(())
    }
}

/// Decodes a complete response, which is one chunk.
pub(crate) fn decode_body(body: Value) -> Result<Vec<ModelEvent>, ModelError> {
    let mut decoder = Decoder::default();
    let mut out = Vec::new();
    decoder.chunk(&body, &mut out)?;
    decoder.end(&mut out)?;
    Ok(out)
}

impl Decoder {
    fn chunk(&mut self, chunk: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if let Some(failed) = chunk.get("error") {
            let status = u16::try_from(count(failed, "/code")).unwrap_or(500);
            return Err(error::parse(status, chunk));
        }
        if self.id.is_none() {
            let id = text(chunk, "responseId").to_owned();
            let model = text(chunk, "modelVersion").to_owned();
            self.id = Some(id.clone());
            out.push(ModelEvent::Start { id, model });
        }
        for candidate in list(chunk, "candidates").iter().take(1) {
            for part in list(&candidate["content"], "parts") {
                self.part(part, out);
            }
            self.finish(text(candidate, "finishReason"));
        }
        if chunk.pointer("/promptFeedback/blockReason").is_some() {
            self.stop = Some(StopReason::Refusal);
        }
        if let Some(found) = chunk.get("usageMetadata") {
            out.push(ModelEvent::Usage(usage(found)));
        }
        Ok(())
    }

    fn part(&mut self, part: &Value, out: &mut Vec<ModelEvent>) {
        let signature = part.get("thoughtSignature").and_then(Value::as_str);
        if let Some(call) = part.get("functionCall") {
            return self.call(call, signature, out);
        }
        let Some(content) = part.get("text").and_then(Value::as_str) else {
            out.push(ModelEvent::Opaque(Opaque {
                dialect: Dialect::Gemini,
                value: part.clone(),
            }));
            return;
        };
        let content = content.to_owned();
        if !content.is_empty() {
            out.push(if part["thought"] == true {
                ModelEvent::ReasoningDelta { text: content }
            } else {
                ModelEvent::TextDelta { text: content }
            });
        }
        if let Some(signature) = signature {
            out.push(ModelEvent::ReasoningEnd {
                signature: Some(signature.to_owned()),
                redacted: false,
            });
        }
    }

    fn call(&mut self, call: &Value, signature: Option<&str>, out: &mut Vec<ModelEvent>) {
        let response_id = self.id.as_deref().unwrap_or_default();
        let id = match text(call, "id") {
            "" => format!("call_{response_id}_{}", self.calls),
            id => id.to_owned(),
        };
        let args = call.get("args").filter(|args| args.is_object());
        let call = ToolCall {
            id,
            name: text(call, "name").to_owned(),
            input: args.map_or_else(|| "{}".to_owned(), Value::to_string),
            signature: signature.map(str::to_owned),
            ..ToolCall::default()
        };
        out.extend(call_events(self.calls, &call));
        self.calls += 1;
    }

    fn finish(&mut self, reason: &str) {
        self.stop = Some(match reason {
            "" => return,
            "MAX_TOKENS" => StopReason::MaxTokens,
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "IMAGE_SAFETY" | "LANGUAGE" => StopReason::Refusal,
            _ => StopReason::EndTurn,
        });
    }
}

pub(crate) fn usage(usage: &Value) -> TokenUsage {
    let thoughts = count(usage, "/thoughtsTokenCount");
    TokenUsage {
        input_tokens: count(usage, "/promptTokenCount"),
        output_tokens: count(usage, "/candidatesTokenCount").saturating_add(thoughts),
        cache_read_tokens: count(usage, "/cachedContentTokenCount"),
        cache_write_tokens: 0,
        reasoning_tokens: thoughts,
    }
    .with_consistent_totals()
}
