//! What messages can carry.

use crate::adapt;
use crate::{Dialect, ModelRequest, ModelResponse, OutputFormat, Part, Role, Sampling, ToolChoice};

/// The limit for a request without one: the API insists, and every model allows this much.
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
            // The operator's later words need a beta that only its own clients ask for.
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

/// Several calls at once are allowed or not within the choice, which a request without one has to make for it.
fn parallel(request: &mut ModelRequest) {
    if request.parallel_tools.is_some() && request.tool_choice.is_none() {
        request.tool_choice = Some(ToolChoice::Auto);
    }
    if request.tool_choice == Some(ToolChoice::None) {
        request.parallel_tools = None;
    }
}

/// A withheld thought is its blob and nothing else, and a call has no blob.
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
