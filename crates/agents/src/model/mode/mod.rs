//! Tools for models without native tool calls.
//!
//! The other modules see native calls only. For a model that cannot make them, the conversation is rendered as text in
//! the request ([`flatten`]), and calls are parsed from the answer: from its text ([`text`]), or from JSON that a
//! schema enforces ([`schema`]).

mod find_calls;
mod flatten;
mod schema;
mod text;
mod transcript;

use std::sync::Arc;

use futures::stream::BoxStream;
use windlass_wire::{ErrorKind, Message, ModelError, ModelEvent, ModelRequest, Part, ToolChoice};

pub use transcript::{TranscriptTools, hosted_tool};

use super::ToolMode;
use super::client::ModelClient;

/// The error code of an answer that is neither a valid call nor a valid answer. The problem is reported to the model.
const UNUSABLE: &str = "unusable_answer";

/// Streams the response of a model in this tool mode. The events are those of a model with native tool calls.
pub(super) fn stream_request(
    client: &Arc<ModelClient>,
    mode: ToolMode,
    request: ModelRequest,
) -> BoxStream<'static, ModelEvent> {
    let has_tools = !request.tools.is_empty();
    let may_call = has_tools && request.tool_choice != Some(ToolChoice::None);
    match mode {
        ToolMode::Auto if may_call => {
            let names = names(&request);
            text::extract_calls(
                client.stream(request),
                names,
                text::OnMalformedCall::TreatAsText,
            )
        }
        ToolMode::Text if has_tools && !may_call => {
            client.stream(flatten::flatten(request, flatten::CallFormat::Fence))
        }
        ToolMode::Text if has_tools => {
            let names = names(&request);
            text::extract_calls(
                client.stream(text::prepare_request(request)),
                names,
                text::OnMalformedCall::Error,
            )
        }
        ToolMode::Schema if has_tools => {
            let (request, actions) = schema::prepare_request(request);
            schema::decode(client.stream(request), actions)
        }
        _ => client.stream(request),
    }
}

/// Builds the error of an unusable answer. The problem is worded for the model.
fn unusable(problem: impl Into<String>) -> ModelError {
    ModelError {
        code: Some(UNUSABLE.to_owned()),
        ..ModelError::new(ErrorKind::Protocol, problem)
    }
}

/// Returns `true` if the problem should be reported to the model for another answer.
pub(super) fn is_unusable(error: &ModelError) -> bool {
    error.code.as_deref() == Some(UNUSABLE)
}

/// Prepares an answer for the history: a call that was parsed from its text is removed from the text.
pub(super) fn for_history(mut message: Message) -> Message {
    let called: Vec<String> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some(call.name.clone()),
            _ => None,
        })
        .collect();
    for part in &mut message.parts {
        if let Part::Text(text) = part
            && let find_calls::FoundCalls::One { range, .. } = find_calls::find(&text.text, &called)
        {
            text.text.replace_range(range, "");
            text.text.truncate(text.text.trim_end().len());
        }
    }
    message
}

fn names(request: &ModelRequest) -> Vec<String> {
    let names = request.tools.iter().filter_map(|tool| tool.name());
    names.map(str::to_owned).collect()
}
