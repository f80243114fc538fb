//! Renders each event as one short line.

use serde_json::Value;
use windlass_agents::cli::Parsed;
use windlass_core::AgentEvent;

/// The most characters of a value that are shown.
const MAX_CHARS: usize = 160;

pub(crate) fn parsed(parsed: &Parsed) -> Vec<String> {
    let session = parsed.session.iter().map(|id| format!("session {id}"));
    let events = parsed.events.iter().map(event);
    let replies = parsed
        .replies
        .iter()
        .map(|line| format!("> {}", truncate(line)));
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
            let outcome = if *success { "ok" } else { "failed" };
            format!(
                "end {} {name} {outcome} {}",
                id.escape_debug(),
                value(output)
            )
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
            let retry = if *recoverable { " (try again)" } else { "" };
            format!("ERROR {code}{retry}: {}", truncate(message))
        }
        AgentEvent::SessionInvalid { reason } => format!("INVALID {}", truncate(reason)),
        AgentEvent::Custom { kind, payload } => format!("custom {kind} {}", value(payload)),
        other => truncate(&serde_json::to_string(other).unwrap()),
    }
}

fn quoted(text: &str) -> String {
    truncate(&format!("{text:?}"))
}

fn value(value: &Value) -> String {
    truncate(&value.to_string())
}

fn truncate(text: &str) -> String {
    let text = text.replace('\n', "\\n");
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
