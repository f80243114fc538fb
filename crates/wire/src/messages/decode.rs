//! Messages: decoding of responses into events.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error;
use crate::codec::Decode;
use crate::json;
use crate::lenient::{MAX_CALLS, check_limit, count, list, text};
use crate::response::call_events;
use crate::{
    Dialect, MAX_EVENT_BYTES, ModelError, ModelEvent, Opaque, StopReason, TokenUsage, ToolCall,
    ToolInputKind,
};

/// Decodes the events of one response.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The open blocks by the server's index.
    blocks: BTreeMap<u64, Block>,
    started: bool,
    calls: usize,
    usage: TokenUsage,
    stop: Option<StopReason>,
}

#[derive(Debug)]
enum Block {
    Text,
    Thinking {
        signature: String,
    },
    Call {
        index: usize,
        input: Value,
        streamed: bool,
    },
    /// A block of the provider's, with its input so far.
    Opaque {
        value: Value,
        input: String,
    },
}

impl Decode for Decoder {
    fn frame(
        &mut self,
        _name: &[u8],
        data: &[u8],
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let event = json::parse(data).map_err(ModelError::protocol)?;
        let kind = text(&event, "type");
        if !matches!(kind, "error" | "ping") {
            self.start(&event["message"], out);
        }
        match kind {
            "content_block_start" => {
                self.block_start(&event, out);
                check_limit(MAX_CALLS, self.blocks.len(), "open blocks")?;
            }
            "content_block_delta" => self.block_delta(&event, out)?,
            "content_block_stop" => self.block_stop(count(&event, "/index"), out),
            "message_delta" => self.message_delta(&event, out),
            "message_stop" => {
                while let Some(index) = self.blocks.keys().next().copied() {
                    self.block_stop(index, out);
                }
                out.extend(self.stop.map(|reason| ModelEvent::Stop { reason }));
                out.push(ModelEvent::Done);
            }
            "error" => return Err(failure(&event)),
            // `ping` keeps the connection open; unknown events are ignored.
            _ => {}
        }
        Ok(())
    }
}

impl Decoder {
    fn start(&mut self, message: &Value, out: &mut Vec<ModelEvent>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        out.push(ModelEvent::Start {
            id: text(message, "id").to_owned(),
            model: text(message, "model").to_owned(),
        });
        self.usage = merged_usage(self.usage, &message["usage"]);
        if self.usage != TokenUsage::default() {
            out.push(ModelEvent::Usage(self.usage));
        }
    }

    fn block_start(&mut self, event: &Value, out: &mut Vec<ModelEvent>) {
        let block = &event["content_block"];
        let open = match text(block, "type") {
            "text" => {
                push_text(text(block, "text"), out);
                Block::Text
            }
            "thinking" => {
                push_reasoning(text(block, "thinking"), out);
                let signature = text(block, "signature").to_owned();
                Block::Thinking { signature }
            }
            "redacted_thinking" => {
                out.push(redacted(block));
                Block::Text
            }
            "tool_use" => self.call_start(block, out),
            _ => Block::Opaque {
                value: block.clone(),
                input: String::new(),
            },
        };
        self.blocks.insert(count(event, "/index"), open);
    }

    fn call_start(&mut self, block: &Value, out: &mut Vec<ModelEvent>) -> Block {
        let index = self.calls;
        self.calls += 1;
        out.push(ModelEvent::ToolCallStart {
            index,
            id: text(block, "id").to_owned(),
            name: text(block, "name").to_owned(),
            kind: ToolInputKind::Function,
            signature: None,
        });
        Block::Call {
            index,
            input: block["input"].clone(),
            streamed: false,
        }
    }

    fn block_delta(&mut self, event: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let delta = &event["delta"];
        let block = self.blocks.get_mut(&count(event, "/index"));
        match (text(delta, "type"), block) {
            ("text_delta", _) => push_text(text(delta, "text"), out),
            ("thinking_delta", _) => push_reasoning(text(delta, "thinking"), out),
            ("signature_delta", Some(Block::Thinking { signature })) => {
                signature.push_str(text(delta, "signature"));
                check_limit(MAX_EVENT_BYTES, signature.len(), "bytes of signature")?;
            }
            (
                "input_json_delta",
                Some(Block::Call {
                    index, streamed, ..
                }),
            ) => {
                let input = text(delta, "partial_json");
                if !input.is_empty() {
                    *streamed = true;
                    out.push(ModelEvent::ToolCallDelta {
                        index: *index,
                        input: input.to_owned(),
                    });
                }
            }
            ("input_json_delta", Some(Block::Opaque { input, .. })) => {
                input.push_str(text(delta, "partial_json"));
                check_limit(MAX_EVENT_BYTES, input.len(), "bytes of input")?;
            }
            _ => {}
        }
        Ok(())
    }

    fn block_stop(&mut self, index: u64, out: &mut Vec<ModelEvent>) {
        match self.blocks.remove(&index) {
            Some(Block::Thinking { signature }) => out.push(ModelEvent::ReasoningEnd {
                signature: Some(signature).filter(|s| !s.is_empty()),
                redacted: false,
            }),
            Some(Block::Call {
                index,
                input,
                streamed,
            }) => {
                if !streamed {
                    // A call without arguments may arrive without a delta.
                    let input = if input.is_object() {
                        input.to_string()
                    } else {
                        "{}".to_owned()
                    };
                    out.push(ModelEvent::ToolCallDelta { index, input });
                }
                out.push(ModelEvent::ToolCallEnd { index });
            }
            Some(Block::Opaque { mut value, input }) => {
                if let (Ok(input), true) = (json::parse(input.as_bytes()), value.is_object()) {
                    value["input"] = input;
                }
                out.push(opaque(value));
            }
            Some(Block::Text) | None => {}
        }
    }

    fn message_delta(&mut self, event: &Value, out: &mut Vec<ModelEvent>) {
        self.usage = merged_usage(self.usage, &event["usage"]);
        out.push(ModelEvent::Usage(self.usage));
        self.stop = stop_reason(text(&event["delta"], "stop_reason")).or(self.stop);
    }
}

/// Decodes a complete response.
pub(crate) fn decode_body(body: Value) -> Result<Vec<ModelEvent>, ModelError> {
    if text(&body, "type") == "error" {
        return Err(failure(&body));
    }
    let mut out = vec![ModelEvent::Start {
        id: text(&body, "id").to_owned(),
        model: text(&body, "model").to_owned(),
    }];
    let mut calls = 0;
    for block in list(&body, "content") {
        match text(block, "type") {
            "text" => push_text(text(block, "text"), &mut out),
            "thinking" => {
                push_reasoning(text(block, "thinking"), &mut out);
                let signature = text(block, "signature");
                out.push(ModelEvent::ReasoningEnd {
                    signature: Some(signature.to_owned()).filter(|s| !s.is_empty()),
                    redacted: false,
                });
            }
            "redacted_thinking" => out.push(redacted(block)),
            "tool_use" => {
                let call = ToolCall {
                    id: text(block, "id").to_owned(),
                    name: text(block, "name").to_owned(),
                    input: block["input"].to_string(),
                    ..ToolCall::default()
                };
                out.extend(call_events(calls, &call));
                calls += 1;
            }
            _ => out.push(opaque(block.clone())),
        }
    }
    out.push(ModelEvent::Usage(merged_usage(
        TokenUsage::default(),
        &body["usage"],
    )));
    let reason = stop_reason(text(&body, "stop_reason"));
    out.extend(reason.map(|reason| ModelEvent::Stop { reason }));
    out.push(ModelEvent::Done);
    Ok(out)
}

fn push_text(text: &str, out: &mut Vec<ModelEvent>) {
    if !text.is_empty() {
        let text = text.to_owned();
        out.push(ModelEvent::TextDelta { text });
    }
}

fn push_reasoning(text: &str, out: &mut Vec<ModelEvent>) {
    if !text.is_empty() {
        let text = text.to_owned();
        out.push(ModelEvent::ReasoningDelta { text });
    }
}

fn redacted(block: &Value) -> ModelEvent {
    ModelEvent::ReasoningEnd {
        signature: Some(text(block, "data").to_owned()),
        redacted: true,
    }
}

fn opaque(value: Value) -> ModelEvent {
    ModelEvent::Opaque(Opaque {
        dialect: Dialect::Messages,
        value,
    })
}

/// Parses an error inside a stream. Only its type indicates the status it would have had.
fn failure(event: &Value) -> ModelError {
    let found = error::parse(500, event);
    ModelError {
        status: found.kind.status(),
        ..found
    }
}

fn stop_reason(name: &str) -> Option<StopReason> {
    Some(match name {
        "" => return None,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "refusal" => StopReason::Refusal,
        "pause_turn" => StopReason::Pause,
        _ => StopReason::EndTurn,
    })
}

/// Merges usage into the known values: in a stream, the first event has the input tokens, the last the output
/// tokens.
pub(crate) fn merged_usage(known: TokenUsage, update: &Value) -> TokenUsage {
    let field = |pointer: &str, known: u64| {
        update
            .pointer(pointer)
            .and_then(json::as_whole_number)
            .unwrap_or(known)
    };
    let known_fresh = known.input_tokens.saturating_sub(
        known
            .cache_read_tokens
            .saturating_add(known.cache_write_tokens),
    );
    let read = field("/cache_read_input_tokens", known.cache_read_tokens);
    let write = field("/cache_creation_input_tokens", known.cache_write_tokens);
    TokenUsage {
        input_tokens: field("/input_tokens", known_fresh)
            .saturating_add(read)
            .saturating_add(write),
        output_tokens: field("/output_tokens", known.output_tokens),
        cache_read_tokens: read,
        cache_write_tokens: write,
        reasoning_tokens: field(
            "/output_tokens_details/thinking_tokens",
            known.reasoning_tokens,
        ),
    }
    .with_consistent_totals()
}
