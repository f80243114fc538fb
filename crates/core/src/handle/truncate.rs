//! Cutting what is too large, and saying so.

use std::collections::VecDeque;

use serde_json::Value;

use crate::{AgentEvent, BackendEvent, PermissionOption};

/// About how much memory and wire an event takes, with the line it was read from.
pub(super) fn approx_size(emitted: &BackendEvent) -> usize {
    event_weight(&emitted.event) + emitted.raw.as_ref().map_or(0, String::len)
}

fn event_weight(event: &AgentEvent) -> usize {
    const FRAME: usize = 32;
    FRAME
        + match event {
            AgentEvent::Text(text) | AgentEvent::Thought(text) => text.len(),
            AgentEvent::Plan { entries } => entries.iter().map(|e| e.step.len() + 32).sum(),
            AgentEvent::ToolStart { id, name, input } => {
                id.len() + name.len() + value_weight(input)
            }
            AgentEvent::ToolProgress { id, update } => id.len() + value_weight(update),
            AgentEvent::ToolEnd {
                id, name, output, ..
            } => id.len() + name.len() + value_weight(output),
            AgentEvent::PermissionRequest {
                id,
                tool,
                input,
                options,
            } => {
                let option = |option: &PermissionOption| option.id.len() + option.label.len() + 32;
                id.len()
                    + tool.len()
                    + value_weight(input)
                    + options.iter().map(option).sum::<usize>()
            }
            AgentEvent::Result { text, metadata, .. } => text.len() + value_weight(metadata),
            AgentEvent::Error { message, .. } => message.len(),
            AgentEvent::SessionInvalid { reason } => reason.len(),
            AgentEvent::SessionChanged { new_session_id } => new_session_id.len(),
            AgentEvent::Custom { kind, payload } => kind.len() + value_weight(payload),
        }
}

fn value_weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => {
            items
                .iter()
                .map(|item| value_weight(item) + 1)
                .sum::<usize>()
                + 2
        }
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| key.len() + 4 + value_weight(value);
            fields.iter().map(field).sum::<usize>() + 2
        }
    }
}

/// Brings an event under the limit by cutting its long strings.
pub(super) fn truncate_event(event: &mut AgentEvent, limit: usize) {
    if event_weight(event) <= limit {
        return;
    }
    match event {
        AgentEvent::Text(_) | AgentEvent::Thought(_) => {}
        AgentEvent::Plan { entries } => {
            let room = limit / entries.len().max(1);
            entries
                .iter_mut()
                .for_each(|entry| truncate(&mut entry.step, room));
        }
        AgentEvent::ToolStart { input: value, .. }
        | AgentEvent::ToolProgress { update: value, .. }
        | AgentEvent::ToolEnd { output: value, .. }
        | AgentEvent::PermissionRequest { input: value, .. }
        | AgentEvent::Custom { payload: value, .. } => shrink_value(value, limit),
        AgentEvent::Result { text, metadata, .. } => {
            truncate(text, limit / 2);
            shrink_value(metadata, limit / 2);
        }
        AgentEvent::Error { message: text, .. }
        | AgentEvent::SessionInvalid { reason: text }
        | AgentEvent::SessionChanged {
            new_session_id: text,
        } => truncate(text, limit),
    }
}

/// Cuts the strings of a value; one that is large without long strings is replaced by its beginning.
fn shrink_value(value: &mut Value, limit: usize) {
    let mut room = limit / 2;
    while value_weight(value) > limit && room >= 64 {
        cut_strings(value, room);
        room /= 4;
    }
    let size = value_weight(value);
    if size > limit {
        let mut head = value.to_string();
        truncate(&mut head, limit / 2);
        *value = serde_json::json!({ "cut": size, "head": head });
    }
}

fn cut_strings(value: &mut Value, room: usize) {
    match value {
        Value::String(text) => truncate(text, room),
        Value::Array(items) => items.iter_mut().for_each(|item| cut_strings(item, room)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| cut_strings(field, room)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text, cut to the limit where it is longer.
pub(super) fn truncate_text(mut text: String, limit: usize) -> String {
    truncate(&mut text, limit);
    text
}

/// Keeps head and tail of a long text, with a mark between them that says how much is missing.
fn truncate(text: &mut String, limit: usize) {
    if text.len() <= limit {
        return;
    }
    let keep = limit.saturating_sub(48) / 2;
    let head = text.floor_char_boundary(keep);
    let tail = text.ceil_char_boundary(text.len() - keep);
    let mark = format!("\n[{} bytes cut]\n", tail - head);
    *text = [&text[..head], &mark, &text[tail..]].concat();
}

/// Passes text on in pieces under the limit: nothing of an answer is lost.
pub(super) fn split_text(
    text: String,
    limit: usize,
    piece: impl Fn(String) -> AgentEvent,
    out: &mut VecDeque<BackendEvent>,
) {
    let size = limit.saturating_sub(64).max(4);
    if text.len() <= size {
        out.push_back(piece(text).into());
        return;
    }
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (head, tail) = rest.split_at(rest.floor_char_boundary(size).max(1));
        out.push_back(piece(head.to_owned()).into());
        rest = tail;
    }
}
