//! Adaptation to what Ollama supports.

use super::media_type;
use crate::adapt;
use crate::tool_calls::assign_call_ids;
use crate::{
    Dialect, Extra, Image, ImageSource, ModelRequest, ModelResponse, Part, Reasoning, Role,
    StopReason, TokenUsage,
};

pub(crate) fn request(request: &mut ModelRequest) {
    adapt::adapt_common(request, Dialect::Ollama);
    adapt::inline_instructions(request);
    adapt::functions_only(request);
    for message in &mut request.messages {
        if message.role == Role::Developer {
            message.role = Role::System;
        }
        message.parts = in_field_order(std::mem::take(&mut message.parts));
    }
    adapt::drop_empty_messages(request);
    adapt::for_each_result(request, |result| {
        result.is_error = false;
        result.parts = in_field_order(std::mem::take(&mut result.parts));
    });
    adapt::for_each_function(request, |tool| tool.strict = None);
    request.tool_choice = None;
    request.parallel_tools = None;
    adapt::schema_only(request);
    assign_call_ids(&mut request.messages);
    adapt::link_results(&mut request.messages);
}

/// Orders the parts: a message has one field each for its reasoning, text, images and calls.
fn in_field_order(parts: Vec<Part>) -> Vec<Part> {
    let text = crate::message::join_text(&parts);
    let mut reasoning_text = String::new();
    let (mut images, mut rest) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Reasoning(reasoning) => reasoning_text.push_str(&reasoning.text),
            Part::Image(found) => images.extend(image(found)),
            Part::ToolCall(mut call) => {
                call.signature = None;
                rest.push(Part::ToolCall(call));
            }
            Part::ToolResult(_) => rest.push(part),
            Part::Text(_) | Part::Opaque(_) => {}
        }
    }
    let reasoning = Reasoning {
        text: reasoning_text,
        ..Reasoning::default()
    };
    let mut ordered = Vec::new();
    ordered.extend((!reasoning.text.is_empty()).then_some(Part::Reasoning(reasoning)));
    ordered.extend((!text.is_empty()).then(|| Part::text(text)));
    ordered.append(&mut images);
    ordered.append(&mut rest);
    ordered
}

/// Reduces an image to its data: Ollama takes no URLs, and the type is derived from the first bytes.
fn image(image: Image) -> Option<Part> {
    match image.source {
        ImageSource::Url { .. } => None,
        ImageSource::Inline { data, .. } => Some(Part::Image(Image {
            source: ImageSource::Inline {
                media_type: media_type(&data).to_owned(),
                data,
            },
            extra: Extra::new(),
        })),
    }
}

pub(crate) fn response(response: &mut ModelResponse) {
    adapt::adapt_common_response(response, Dialect::Ollama);
    adapt::functions_only_response(response);
    // Texts are streamed as they arrive, so they are joined without a separator.
    let text = response.text();
    response.parts.retain(|part| !matches!(part, Part::Text(_)));
    response.parts.insert(0, Part::text(text));
    response.parts = in_field_order(std::mem::take(&mut response.parts));
    response.id = String::new();
    response.stop = Some(match response.stop_or_implied() {
        StopReason::MaxTokens => StopReason::MaxTokens,
        _ if response.calls().next().is_some() => StopReason::ToolUse,
        _ => StopReason::EndTurn,
    });
    let TokenUsage {
        input_tokens,
        output_tokens,
        ..
    } = response.usage.unwrap_or_default();
    response.usage = Some(TokenUsage {
        input_tokens,
        output_tokens,
        ..TokenUsage::default()
    });
}
