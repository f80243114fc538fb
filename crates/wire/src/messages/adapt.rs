//! Adaptation to what messages supports.

use crate::adapt;
use crate::{Dialect, ModelRequest, ModelResponse, OutputFormat, Part, Role, Sampling, ToolChoice};

/// The token limit for a request without one: the API requires a limit, and every model allows this value.
const MAX_TOKENS: u64 = 8192;

pub(crate) fn request(request: &mut ModelRequest) {
    let native = request.origin == Some(Dialect::Messages);
    adapt::drop_foreign_reasoning(request, Dialect::Messages);
    for message in &mut request.messages {
        message.parts.iter_mut().for_each(strip_redacted);
    }
    adapt::adapt_common(request, Dialect::Messages);
    adapt::extract_instructions(request);
    adapt::functions_only(request);
    for message in &mut request.messages {
        if matches!(message.role, Role::System | Role::Developer) {
            // Later system messages need a beta that only its own clients request.
            message.role = if native { Role::System } else { Role::User };
        }
    }
    request.max_tokens.get_or_insert(MAX_TOKENS);
    parallel(request);
    request.sampling = Sampling {
        seed: None,
        presence_penalty: None,
        frequency_penalty: None,
        ..std::mem::take(&mut request.sampling)
    };
    adapt::schema_only(request);
    if request.output == OutputFormat::Json {
        request.output = OutputFormat::Text;
    }
    adapt::for_each_orphan_result(request, |result| result.name = String::new());
}

/// Sets the tool choice if needed: parallel calls are part of it, so a request without a choice gets one.
fn parallel(request: &mut ModelRequest) {
    if request.parallel_tools.is_some() && request.tool_choice.is_none() {
        request.tool_choice = Some(ToolChoice::Auto);
    }
    if request.tool_choice == Some(ToolChoice::None) {
        request.parallel_tools = None;
    }
}

/// Reduces withheld reasoning to its blob, and removes a call's signature, which this API does not have.
fn strip_redacted(part: &mut Part) {
    match part {
        Part::Reasoning(reasoning) if reasoning.redacted => reasoning.text = String::new(),
        Part::ToolCall(call) => call.signature = None,
        _ => {}
    }
}

pub(crate) fn response(response: &mut ModelResponse) {
    response.parts.iter_mut().for_each(strip_redacted);
    adapt::adapt_common_response(response, Dialect::Messages);
    adapt::functions_only_response(response);
    response.usage.get_or_insert_default();
    response.stop = Some(response.stop_or_implied());
}
