//! What a request looks like to a script.

use windlass_wire::{Message, ModelRequest, Part, Role};

use crate::intent::{Toolbox, offers};
use crate::script::Asked;

/// A request as a matcher sees it.
pub(crate) fn asked(request: &ModelRequest, toolbox: &Toolbox<'_>) -> Asked {
    Asked {
        news: news(request),
        tools: offers(request)
            .iter()
            .map(|offer| offer.name.to_owned())
            .collect(),
        intents: toolbox.intents(),
        turn: answers(request) + 1,
    }
}

/// The words of users and tools since the model's last answer. Operators' reminders are not news, wherever they stand.
fn news(request: &ModelRequest) -> String {
    let last = request.messages.iter().rposition(is_answer);
    let since = request
        .messages
        .iter()
        .skip(last.map_or(0, |last| last + 1));
    let told = since.filter(|message| matches!(message.role, Role::User | Role::Tool));
    told.map(words).collect::<Vec<_>>().join("\n")
}

fn words(message: &Message) -> String {
    let parts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.clone()),
        Part::ToolResult(result) => Some(result.text()),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// How many answers of the model the conversation holds: messages of the model that follow one another are one.
fn answers(request: &ModelRequest) -> usize {
    let mut speaking = false;
    let mut count = 0;
    for message in &request.messages {
        match message.role {
            _ if is_answer(message) => {
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
fn is_answer(message: &Message) -> bool {
    message.role == Role::Assistant
        && message
            .parts
            .iter()
            .any(|part| !matches!(part, Part::Opaque(_)))
}
