//! Adaptation to what chat completions supports.

use crate::adapt;
use crate::{
    Dialect, ModelRequest, ModelResponse, OutputFormat, Part, Reasoning, Role, StopReason,
    ToolInputKind,
};

/// The name of a schema without one: OpenAI requires a name.
const SCHEMA_NAME: &str = "answer";

pub(crate) fn request(request: &mut ModelRequest) {
    adapt::adapt_common(request, Dialect::Chat);
    adapt::inline_instructions(request);
    for message in &mut request.messages {
        if message.role == Role::Assistant {
            message.parts = in_field_order(std::mem::take(&mut message.parts));
        }
    }
    adapt::drop_empty_messages(request);
    adapt::for_each_result(request, |result| result.is_error = false);
    adapt::for_each_orphan_result(request, |result| {
        result.name = String::new();
        result.kind = ToolInputKind::Function;
    });
    request.sampling.top_k = None;
    if let OutputFormat::JsonSchema(schema) = &mut request.output {
        schema.name.get_or_insert_with(|| SCHEMA_NAME.to_owned());
    }
}

/// Orders the parts: an assistant message has one field for its reasoning, one for its text and one for its
/// calls.
fn in_field_order(parts: Vec<Part>) -> Vec<Part> {
    let mut reasoning_text = String::new();
    let mut content = Vec::new();
    let mut calls = Vec::new();
    for part in parts {
        match part {
            Part::Reasoning(reasoning) => reasoning_text.push_str(&reasoning.text),
            Part::ToolCall(mut call) => {
                call.signature = None;
                calls.push(Part::ToolCall(call));
            }
            other => content.push(other),
        }
    }
    let mut ordered = Vec::new();
    if !reasoning_text.is_empty() {
        ordered.push(Part::Reasoning(Reasoning {
            text: reasoning_text,
            ..Reasoning::default()
        }));
    }
    ordered.append(&mut content);
    ordered.append(&mut calls);
    ordered
}

pub(crate) fn response(response: &mut ModelResponse) {
    response.parts = in_field_order(std::mem::take(&mut response.parts));
    response
        .parts
        .retain(|part| !matches!(part, Part::Opaque(_)));
    adapt::adapt_common_response(response, Dialect::Chat);
    response.stop = Some(match response.stop_or_implied() {
        StopReason::StopSequence | StopReason::Pause => StopReason::EndTurn,
        other => other,
    });
}
