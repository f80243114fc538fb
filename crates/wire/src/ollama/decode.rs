//! Ollama: decoding of responses into events.

use serde_json::Value;

use super::error;
use crate::codec::Decode;
use crate::json;
use crate::lenient::{count, list, text};
use crate::response::call_events;
use crate::{ModelError, ModelEvent, StopReason, TokenUsage, ToolCall};

/// Decodes the lines of one response.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    started: bool,
    calls: usize,
}

impl Decode for Decoder {
    fn frame(
        &mut self,
        _name: &[u8],
        data: &[u8],
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let line = json::parse(data).map_err(ModelError::protocol)?;
        self.line(&line, out)
    }
}

/// Decodes a complete response, which is one line. It is complete unless `done` is false: `done` is for
/// streams.
pub(crate) fn decode_body(body: Value) -> Result<Vec<ModelEvent>, ModelError> {
    let mut out = Vec::new();
    let mut decoder = Decoder::default();
    decoder.line(&body, &mut out)?;
    if body.get("done").is_none() && body["message"].is_object() {
        decoder.end(&body, &mut out);
    }
    match out.last() {
        Some(ModelEvent::Done) => Ok(out),
        _ => Err(ModelError::interrupted()),
    }
}

impl Decoder {
    fn line(&mut self, line: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if line.get("error").is_some() {
            return Err(error::parse(500, line));
        }
        if !std::mem::replace(&mut self.started, true) {
            out.push(ModelEvent::Start {
                id: String::new(),
                model: text(line, "model").to_owned(),
            });
        }
        let message = &line["message"];
        let reasoning = text(message, "thinking").to_owned();
        if !reasoning.is_empty() {
            out.push(ModelEvent::ReasoningDelta { text: reasoning });
        }
        let content = text(message, "content").to_owned();
        if !content.is_empty() {
            out.push(ModelEvent::TextDelta { text: content });
        }
        for call in list(message, "tool_calls") {
            self.call(call, text(line, "created_at"), out);
        }
        if line["done"] == true {
            self.end(line, out);
        }
        Ok(())
    }

    /// Adds a call. If the server sends no id, one is made from the response's time, so that it differs from
    /// those of other responses.
    fn call(&mut self, call: &Value, created: &str, out: &mut Vec<ModelEvent>) {
        let id = match text(call, "id") {
            "" => {
                let digits: String = created.chars().filter(char::is_ascii_digit).collect();
                format!("call_{digits}_{}", self.calls)
            }
            id => id.to_owned(),
        };
        let function = &call["function"];
        let input = match function.get("arguments") {
            // Some servers write the object as a string. The caller validates it.
            Some(Value::String(text)) => text.clone(),
            Some(object @ Value::Object(_)) => object.to_string(),
            _ => "{}".to_owned(),
        };
        let call = ToolCall {
            id,
            name: text(function, "name").to_owned(),
            input,
            ..ToolCall::default()
        };
        out.extend(call_events(self.calls, &call));
        self.calls += 1;
    }

    fn end(&mut self, line: &Value, out: &mut Vec<ModelEvent>) {
        out.push(ModelEvent::Usage(usage(line)));
        let reason = match text(line, "done_reason") {
            "length" => StopReason::MaxTokens,
            _ if self.calls > 0 => StopReason::ToolUse,
            _ => StopReason::EndTurn,
        };
        out.push(ModelEvent::Stop { reason });
        out.push(ModelEvent::Done);
    }
}

pub(crate) fn usage(line: &Value) -> TokenUsage {
    TokenUsage {
        input_tokens: count(line, "/prompt_eval_count"),
        output_tokens: count(line, "/eval_count"),
        ..TokenUsage::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn decode_body_accepts_missing_done() {
        let events = decode_body(json!({ "message": { "content": "yes" } })).unwrap();
        assert!(
            events.contains(&ModelEvent::TextDelta {
                text: "yes".to_owned()
            }),
            "{events:?}"
        );
        assert_eq!(events.last(), Some(&ModelEvent::Done));
        for incomplete in [
            json!({ "message": { "content": "yes" }, "done": false }),
            json!({ "hello": "there" }),
            json!([1]),
        ] {
            assert!(decode_body(incomplete.clone()).is_err(), "{incomplete}");
        }
    }
}
