//! The features of a request that a script can match.

use windlass_wire::{Message, ModelRequest, Part, Role};

use crate::intent::{OfferedTools, offered_tools};
use crate::script::RequestFeatures;

/// Returns the features of a request.
pub(crate) fn request_features(
    request: &ModelRequest,
    offered: &OfferedTools<'_>,
) -> RequestFeatures {
    RequestFeatures {
        new_text: new_text(request),
        tools: offered_tools(request)
            .iter()
            .map(|tool| tool.name.to_owned())
            .collect(),
        intents: offered.intents(),
        turn: answer_count(request) + 1,
    }
}

/// Returns the text of users and tools since the model's last answer. System messages are not included, at
/// any position.
fn new_text(request: &ModelRequest) -> String {
    let last = request.messages.iter().rposition(is_model_answer);
    let since = request
        .messages
        .iter()
        .skip(last.map_or(0, |last| last + 1));
    let messages = since.filter(|message| matches!(message.role, Role::User | Role::Tool));
    messages.map(message_text).collect::<Vec<_>>().join("\n")
}

fn message_text(message: &Message) -> String {
    let parts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.clone()),
        Part::ToolResult(result) => Some(result.text()),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// Counts the model's answers in the conversation. Consecutive messages of the model are one answer.
fn answer_count(request: &ModelRequest) -> usize {
    let mut in_answer = false;
    let mut count = 0;
    for message in &request.messages {
        match message.role {
            _ if is_model_answer(message) => {
                count += usize::from(!in_answer);
                in_answer = true;
            }
            Role::User | Role::Tool => in_answer = false,
            _ => {}
        }
    }
    count
}

/// Returns `true` if the message has content of the model; Codex inserts other items between the model's
/// messages.
fn is_model_answer(message: &Message) -> bool {
    message.role == Role::Assistant
        && message
            .parts
            .iter()
            .any(|part| !matches!(part, Part::Opaque(_)))
}
