//! Adaptation to what responses supports.

use crate::adapt;
use crate::{
    Dialect, Extra, ModelRequest, ModelResponse, OutputFormat, Part, Role, Sampling, StopReason,
};

/// The name of a schema without one: OpenAI requires a name.
const SCHEMA_NAME: &str = "answer";

pub(crate) fn request(request: &mut ModelRequest) {
    adapt::drop_foreign_reasoning(request, Dialect::Responses);
    adapt::adapt_common(request, Dialect::Responses);
    adapt::join_instructions(request);
    join_assistants(request);
    adapt::for_each_result(request, |result| result.is_error = false);
    adapt::for_each_orphan_result(request, |result| result.name = String::new());
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

/// Joins consecutive assistant messages, because items are not grouped into messages.
fn join_assistants(request: &mut ModelRequest) {
    let mut joined: Vec<crate::Message> = Vec::with_capacity(request.messages.len());
    for mut message in std::mem::take(&mut request.messages) {
        if message.role == Role::Assistant {
            message.extra = Extra::new();
            message.parts.iter_mut().for_each(strip_signatures);
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

/// Removes a call's signature and the redaction mark, which this API does not have. Reasoning keeps its
/// signature.
fn strip_signatures(part: &mut Part) {
    match part {
        Part::ToolCall(call) => call.signature = None,
        Part::Reasoning(reasoning) => reasoning.redacted = false,
        _ => {}
    }
}

pub(crate) fn response(response: &mut ModelResponse) {
    adapt::adapt_common_response(response, Dialect::Responses);
    response.parts.iter_mut().for_each(strip_signatures);
    response.stop = Some(match response.stop_or_implied() {
        reason @ (StopReason::MaxTokens | StopReason::Refusal) => reason,
        _ if response.calls().next().is_some() => StopReason::ToolUse,
        _ => StopReason::EndTurn,
    });
}
