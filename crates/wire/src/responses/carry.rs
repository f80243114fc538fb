//! What responses can carry.

use crate::carry;
use crate::{
    Dialect, Extra, ModelRequest, ModelResponse, OutputFormat, Part, Role, Sampling, StopReason,
};

/// The name of a schema that has none: OpenAI insists on one.
const SCHEMA_NAME: &str = "answer";

pub(crate) fn request(request: &mut ModelRequest) {
    carry::drop_foreign_reasoning(request, Dialect::Responses);
    carry::common(request, Dialect::Responses);
    carry::join_instructions(request);
    join_assistants(request);
    carry::each_result(request, |result| result.is_error = false);
    carry::each_orphan(request, |result| result.name = String::new());
    let Sampling {
        temperature, top_p, ..
    } = request.sampling;
    request.sampling = Sampling {
        temperature,
        top_p,
        ..Sampling::default()
    };
    if let OutputFormat::JsonSchema(schema) = &mut request.output {
        schema.name.get_or_insert_with(|| SCHEMA_NAME.to_owned());
    }
}

/// Items have no message around them: the assistant's messages that follow one another are one.
fn join_assistants(request: &mut ModelRequest) {
    let mut joined: Vec<crate::Message> = Vec::with_capacity(request.messages.len());
    for mut message in std::mem::take(&mut request.messages) {
        if message.role == Role::Assistant {
            message.extra = Extra::new();
            message.parts.iter_mut().for_each(unsign);
        }
        match joined.last_mut() {
            Some(last) if last.role == Role::Assistant && message.role == Role::Assistant => {
                last.parts.append(&mut message.parts);
            }
            _ => joined.push(message),
        }
    }
    request.messages = joined;
}

/// A thought's blob has a place here, a call's has none, and nothing is marked as withheld.
fn unsign(part: &mut Part) {
    match part {
        Part::ToolCall(call) => call.signature = None,
        Part::Reasoning(reasoning) => reasoning.redacted = false,
        _ => {}
    }
}

pub(crate) fn response(response: &mut ModelResponse) {
    carry::common_response(response, Dialect::Responses);
    response.parts.iter_mut().for_each(unsign);
    response.stop = Some(match response.stop_or_implied() {
        reason @ (StopReason::MaxTokens | StopReason::Refusal) => reason,
        _ if response.calls().next().is_some() => StopReason::ToolUse,
        _ => StopReason::EndTurn,
    });
}
