//! Tools for models that have no calls of their own.
//!
//! Everybody else sees native calls only. Where a model cannot make them, the conversation is put into words on the way
//! out ([`words`]), and calls are found in the answer on the way in: in its text ([`text`]), or in the JSON that a
//! schema holds it to ([`schema`]).

mod find_calls;
mod flatten;
mod schema;
mod text;

use std::sync::Arc;

use futures::stream::BoxStream;
use windlass_wire::{ErrorKind, Message, ModelError, ModelEvent, ModelRequest, Part, ToolChoice};

use super::ToolMode;
use super::client::ModelClient;

/// The provider's word for an answer that is no call and no answer either. It goes back to the model.
const UNUSABLE: &str = "unusable_answer";

/// Asks a model that calls tools in this way. The events are those of a model that has calls of its own.
pub(super) fn stream_request(
    line: &Arc<ModelClient>,
    mode: ToolMode,
    request: ModelRequest,
) -> BoxStream<'static, ModelEvent> {
    let has_tools = !request.tools.is_empty() && request.tool_choice != Some(ToolChoice::None);
    match mode {
        ToolMode::Auto if has_tools => {
            let names = names(&request);
            text::extract_calls(
                line.stream(request),
                names,
                text::OnMalformedCall::TreatAsText,
            )
        }
        ToolMode::Text if has_tools => {
            let names = names(&request);
            text::extract_calls(
                line.stream(text::prepare_request(request)),
                names,
                text::OnMalformedCall::Error,
            )
        }
        ToolMode::Schema if has_tools => {
            let (request, plan) = schema::prepare_request(request);
            schema::decode(line.stream(request), plan)
        }
        _ => line.stream(request),
    }
}

/// The failure that an answer is which cannot be used: what is wrong with it, as the model should read it.
fn unusable(problem: impl Into<String>) -> ModelError {
    ModelError {
        code: Some(UNUSABLE.to_owned()),
        ..ModelError::new(ErrorKind::Protocol, problem)
    }
}

/// Whether the model should be told, and asked again.
pub(super) fn is_unusable(error: &ModelError) -> bool {
    error.code.as_deref() == Some(UNUSABLE)
}

/// An answer as it should be remembered: a call that was found in its text stands there only once.
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
            && let find_calls::FoundCalls::One { place, .. } = find_calls::find(&text.text, &called)
        {
            text.text.replace_range(place, "");
            text.text.truncate(text.text.trim_end().len());
        }
    }
    message
}

fn names(request: &ModelRequest) -> Vec<String> {
    let names = request.tools.iter().filter_map(|tool| tool.name());
    names.map(str::to_owned).collect()
}
