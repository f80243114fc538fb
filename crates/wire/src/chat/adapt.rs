//! What chat completions can carry.

use crate::adapt;
use crate::{
    Dialect, ModelRequest, ModelResponse, OutputFormat, Part, Reasoning, Role, StopReason,
    ToolInputKind,
};

/// The name of a schema that has none: OpenAI insists on one.
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

/// An assistant's message has one field for its thought, one for its words and one for its calls.
fn in_field_order(parts: Vec<Part>) -> Vec<Part> {
    let mut thought = String::new();
    let mut words = Vec::new();
    let mut calls = Vec::new();
    for part in parts {
        match part {
            Part::Reasoning(reasoning) => thought.push_str(&reasoning.text),
            Part::ToolCall(mut call) => {
                call.signature = None;
                calls.push(Part::ToolCall(call));
            }
            other => words.push(other),
        }
    }
    let mut ordered = Vec::new();
    if !thought.is_empty() {
        ordered.push(Part::Reasoning(Reasoning {
            text: thought,
            ..Reasoning::default()
        }));
    }
    ordered.append(&mut words);
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
