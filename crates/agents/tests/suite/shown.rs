//! Events as one short line each.

use serde_json::Value;
use windlass_agents::cli::Parsed;
use windlass_core::AgentEvent;

/// How much of a value is worth looking at.
const SHORT: usize = 160;

pub(crate) fn heard(heard: &Parsed) -> Vec<String> {
    let session = heard.session.iter().map(|id| format!("session {id}"));
    let events = heard.events.iter().map(event);
    let replies = heard.replies.iter().map(|line| format!("> {}", cut(line)));
    session.chain(events).chain(replies).collect()
}

pub(crate) fn event(event: &AgentEvent) -> String {
    match event {
        AgentEvent::Text(text) => format!("text {}", quoted(text)),
        AgentEvent::Thought(text) => format!("thought {}", quoted(text)),
        AgentEvent::ToolStart { id, name, input } => {
            format!("start {} {name} {}", id.escape_debug(), value(input))
        }
        AgentEvent::ToolProgress { id, update } => format!("progress {id} {}", value(update)),
        AgentEvent::ToolEnd {
            id,
            name,
            output,
            success,
            ..
        } => {
            let how = if *success { "ok" } else { "failed" };
            format!("end {} {name} {how} {}", id.escape_debug(), value(output))
        }
        AgentEvent::Result {
            text,
            usage,
            metadata,
        } => {
            let usage = usage
                .as_ref()
                .map(|usage| serde_json::to_value(usage).unwrap());
            format!(
                "RESULT {} {} {}",
                quoted(text),
                value(&usage.into()),
                value(metadata)
            )
        }
        AgentEvent::Error {
            code,
            message,
            recoverable,
        } => {
            let again = if *recoverable { " (try again)" } else { "" };
            format!("ERROR {code}{again}: {}", cut(message))
        }
        AgentEvent::SessionInvalid { reason } => format!("INVALID {}", cut(reason)),
        AgentEvent::Custom { kind, payload } => format!("custom {kind} {}", value(payload)),
        other => cut(&serde_json::to_string(other).unwrap()),
    }
}

fn quoted(text: &str) -> String {
    cut(&format!("{text:?}"))
}

fn value(value: &Value) -> String {
    cut(&value.to_string())
}

fn cut(text: &str) -> String {
    let text = text.replace('\n', "\\n");
    match text.char_indices().nth(SHORT) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
