//! Responses: decoding of responses into events.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error;
use crate::codec::Decode;
use crate::json;
use crate::lenient::{MAX_CALLS, check_limit, count, list, text};
use crate::{Dialect, ModelError, ModelEvent, Opaque, StopReason, TokenUsage, ToolInputKind};

/// Decodes the events of one response.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    started: bool,
    /// The state of each open item, by its output index.
    items: BTreeMap<u64, Item>,
    calls: usize,
    refused: bool,
}

#[derive(Debug, Default)]
struct Item {
    /// The index among the calls, for a call.
    call: Option<usize>,
    /// `true` if any of its content arrived as a delta.
    emitted: bool,
}

impl Decode for Decoder {
    fn frame(
        &mut self,
        _name: &[u8],
        data: &[u8],
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        if data == b"[DONE]" {
            return Ok(());
        }
        let event = json::parse(data).map_err(ModelError::protocol)?;
        let output_index = count(&event, "/output_index");
        let kind = text(&event, "type");
        if !matches!(kind, "response.failed" | "error") {
            self.start(&event["response"], out);
        }
        match kind {
            "response.output_item.added" => self.added(output_index, &event["item"], out),
            "response.output_item.done" => self.item_done(output_index, &event["item"], out),
            "response.output_text.delta" => {
                self.push_text(output_index, text(&event, "delta"), out)
            }
            "response.refusal.delta" => {
                self.refused = true;
                self.push_text(output_index, text(&event, "delta"), out);
            }
            "response.reasoning_summary_part.added" if count(&event, "/summary_index") > 0 => {
                self.push_reasoning(output_index, "\n\n", out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.push_reasoning(output_index, text(&event, "delta"), out);
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.input(output_index, text(&event, "delta"), out);
            }
            "response.completed" | "response.incomplete" => self.end(&event["response"], out),
            "response.failed" | "error" => return Err(error::from_event(&event)),
            // Other events repeat what was already emitted, or are unknown.
            _ => {}
        }
        check_limit(MAX_CALLS, self.items.len(), "open items")
    }
}

impl Decoder {
    fn start(&mut self, response: &Value, out: &mut Vec<ModelEvent>) {
        if !std::mem::replace(&mut self.started, true) {
            out.push(ModelEvent::Start {
                id: text(response, "id").to_owned(),
                model: text(response, "model").to_owned(),
            });
        }
    }

    fn added(&mut self, output_index: u64, item: &Value, out: &mut Vec<ModelEvent>) {
        let kind = match text(item, "type") {
            "function_call" => ToolInputKind::Function,
            "custom_tool_call" => ToolInputKind::Freeform,
            _ => return,
        };
        let index = self.calls;
        self.calls += 1;
        self.items.entry(output_index).or_default().call = Some(index);
        out.push(ModelEvent::ToolCallStart {
            index,
            id: text(item, "call_id").to_owned(),
            name: text(item, "name").to_owned(),
            kind,
            signature: None,
        });
    }

    /// Marks that content of an item was emitted.
    fn mark_emitted(&mut self, output_index: u64) -> &mut Item {
        let item = self.items.entry(output_index).or_default();
        item.emitted = true;
        item
    }

    fn push_text(&mut self, output_index: u64, text: &str, out: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.mark_emitted(output_index);
            let text = text.to_owned();
            out.push(ModelEvent::TextDelta { text });
        }
    }

    fn push_reasoning(&mut self, output_index: u64, text: &str, out: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.mark_emitted(output_index);
            let text = text.to_owned();
            out.push(ModelEvent::ReasoningDelta { text });
        }
    }

    fn input(&mut self, output_index: u64, input: &str, out: &mut Vec<ModelEvent>) {
        if input.is_empty() {
            return;
        }
        if let Some(index) = self.mark_emitted(output_index).call {
            let input = input.to_owned();
            out.push(ModelEvent::ToolCallDelta { index, input });
        }
    }

    /// Completes an item. A server that sends few deltas sends all of its content only here.
    fn item_done(&mut self, output_index: u64, item: &Value, out: &mut Vec<ModelEvent>) {
        let is_call = matches!(text(item, "type"), "function_call" | "custom_tool_call");
        if is_call && !self.items.contains_key(&output_index) {
            self.added(output_index, item, out);
        }
        let state = self.items.remove(&output_index).unwrap_or_default();
        match text(item, "type") {
            "message" if !state.emitted => {
                for part in list(item, "content") {
                    self.refused |= text(part, "type") == "refusal";
                    self.push_text(output_index, text(part, "text"), out);
                    self.push_text(output_index, text(part, "refusal"), out);
                }
            }
            "message" => {}
            "reasoning" => self.reasoning_done(output_index, item, state.emitted, out),
            "function_call" | "custom_tool_call" => {
                let Some(index) = state.call else { return };
                if !state.emitted {
                    let input = format!("{}{}", text(item, "arguments"), text(item, "input"));
                    out.push(ModelEvent::ToolCallDelta { index, input });
                }
                out.push(ModelEvent::ToolCallEnd { index });
            }
            _ => out.push(ModelEvent::Opaque(Opaque {
                dialect: Dialect::Responses,
                value: item.clone(),
            })),
        }
    }

    fn reasoning_done(
        &mut self,
        output_index: u64,
        item: &Value,
        emitted: bool,
        out: &mut Vec<ModelEvent>,
    ) {
        if !emitted {
            let texts = |key: &str| -> Vec<&str> {
                list(item, key)
                    .iter()
                    .map(|entry| text(entry, "text"))
                    .collect()
            };
            let summary = texts("summary");
            let texts = if summary.is_empty() {
                texts("content")
            } else {
                summary
            };
            self.push_reasoning(output_index, &texts.join("\n\n"), out);
        }
        let signature = text(item, "encrypted_content");
        out.push(ModelEvent::ReasoningEnd {
            signature: Some(signature.to_owned()).filter(|s| !s.is_empty()),
            redacted: false,
        });
    }

    fn end(&mut self, response: &Value, out: &mut Vec<ModelEvent>) {
        let open = std::mem::take(&mut self.items).into_values();
        let left = open.filter_map(|item| item.call);
        out.extend(left.map(|index| ModelEvent::ToolCallEnd { index }));
        if let Some(found) = response.get("usage").filter(|usage| usage.is_object()) {
            out.push(ModelEvent::Usage(usage(found)));
        }
        let details = response.pointer("/incomplete_details/reason");
        let reason = match details.and_then(Value::as_str) {
            Some("content_filter") => StopReason::Refusal,
            Some(_) => StopReason::MaxTokens,
            None if self.refused => StopReason::Refusal,
            None if self.calls > 0 => StopReason::ToolUse,
            None => StopReason::EndTurn,
        };
        out.push(ModelEvent::Stop { reason });
        out.push(ModelEvent::Done);
    }
}

/// Decodes a complete response, which is handled like a stream without deltas.
pub(crate) fn decode_body(body: Value) -> Result<Vec<ModelEvent>, ModelError> {
    if body.get("error").is_some_and(|error| !error.is_null()) {
        return Err(error::from_event(&body));
    }
    let mut decoder = Decoder::default();
    let mut out = Vec::new();
    decoder.start(&body, &mut out);
    for (at, item) in list(&body, "output").iter().enumerate() {
        decoder.item_done(at as u64, item, &mut out);
    }
    decoder.end(&body, &mut out);
    Ok(out)
}

pub(crate) fn usage(usage: &Value) -> TokenUsage {
    TokenUsage {
        input_tokens: count(usage, "/input_tokens"),
        output_tokens: count(usage, "/output_tokens"),
        cache_read_tokens: count(usage, "/input_tokens_details/cached_tokens"),
        cache_write_tokens: count(usage, "/input_tokens_details/cache_write_tokens"),
        reasoning_tokens: count(usage, "/output_tokens_details/reasoning_tokens"),
    }
    .with_consistent_totals()
}
