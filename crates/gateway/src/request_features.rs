//! What a request looks like to a script.

use windlass_wire::{Message, ModelRequest, Part, Role};

use crate::intent::{OfferedTools, offered_tools};
use crate::script::RequestFeatures;

/// A request as a matcher sees it.
pub(crate) fn request_features(
    request: &ModelRequest,
    toolbox: &OfferedTools<'_>,
) -> RequestFeatures {
    RequestFeatures {
        news: new_text(request),
        tools: offered_tools(request)
            .iter()
            .map(|offer| offer.name.to_owned())
            .collect(),
        intents: toolbox.intents(),
        turn: answer_count(request) + 1,
    }
}

/// The words of users and tools since the model's last answer. Operators' reminders are not news, wherever they stand.
fn new_text(request: &ModelRequest) -> String {
    let last = request.messages.iter().rposition(is_model_answer);
    let since = request
        .messages
        .iter()
        .skip(last.map_or(0, |last| last + 1));
    let told = since.filter(|message| matches!(message.role, Role::User | Role::Tool));
    told.map(message_text).collect::<Vec<_>>().join("\n")
}

fn message_text(message: &Message) -> String {
    let parts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.clone()),
        Part::ToolResult(result) => Some(result.text()),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// How many answers of the model the conversation holds: messages of the model that follow one another are one.
fn answer_count(request: &ModelRequest) -> usize {
    let mut speaking = false;
    let mut count = 0;
    for message in &request.messages {
        match message.role {
            _ if is_model_answer(message) => {
                count += usize::from(!speaking);
                speaking = true;
            }
            Role::User | Role::Tool => speaking = false,
            _ => {}
        }
    }
    count
}

/// Whether the model says something in it; Codex puts other things between its lines.
fn is_model_answer(message: &Message) -> bool {
    message.role == Role::Assistant
        && message
            .parts
            .iter()
            .any(|part| !matches!(part, Part::Opaque(_)))
}
