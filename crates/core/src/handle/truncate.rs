//! Truncation of oversized events.

use std::collections::VecDeque;

use serde_json::Value;

use crate::cut::cut_with_mark;
use crate::{AgentEvent, BackendEvent, PermissionOption};

/// Returns the approximate size of an event in bytes, including the line it was parsed from.
pub(super) fn approx_size(event: &BackendEvent) -> usize {
    event_size(&event.event) + event.raw.as_ref().map_or(0, String::len)
}

fn event_size(event: &AgentEvent) -> usize {
    const FRAME: usize = 32;
    FRAME
        + match event {
            AgentEvent::Text(text) | AgentEvent::Thought(text) => text.len(),
            AgentEvent::Plan { entries } => entries.iter().map(|e| e.step.len() + 32).sum(),
            AgentEvent::ToolStart { id, name, input } => id.len() + name.len() + value_size(input),
            AgentEvent::ToolProgress { id, update } => id.len() + value_size(update),
            AgentEvent::ToolEnd {
                id, name, output, ..
            } => id.len() + name.len() + value_size(output),
            AgentEvent::PermissionRequest {
                id,
                tool,
                input,
                options,
            } => {
                let option = |option: &PermissionOption| option.id.len() + option.label.len() + 32;
                id.len()
                    + tool.len()
                    + value_size(input)
                    + options.iter().map(option).sum::<usize>()
            }
            AgentEvent::Result { text, metadata, .. } => text.len() + value_size(metadata),
            AgentEvent::Error { message, .. } => message.len(),
            AgentEvent::SessionInvalid { reason } => reason.len(),
            AgentEvent::SessionChanged { new_session_id } => new_session_id.len(),
            AgentEvent::Custom { kind, payload } => kind.len() + value_size(payload),
        }
}

fn value_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| value_size(item) + 1).sum::<usize>() + 2,
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| key.len() + 4 + value_size(value);
            fields.iter().map(field).sum::<usize>() + 2
        }
    }
}

/// Brings an event under the limit by truncating its long strings.
pub(super) fn truncate_event(event: &mut AgentEvent, limit: usize) {
    if event_size(event) <= limit {
        return;
    }
    match event {
        AgentEvent::Text(_) | AgentEvent::Thought(_) => {}
        AgentEvent::Plan { entries } => {
            let max_step = limit / entries.len().max(1);
            entries
                .iter_mut()
                .for_each(|entry| truncate(&mut entry.step, max_step));
        }
        AgentEvent::ToolStart { input: value, .. }
        | AgentEvent::ToolProgress { update: value, .. }
        | AgentEvent::ToolEnd { output: value, .. }
        | AgentEvent::PermissionRequest { input: value, .. }
        | AgentEvent::Custom { payload: value, .. } => truncate_value(value, limit),
        AgentEvent::Result { text, metadata, .. } => {
            truncate(text, limit / 2);
            truncate_value(metadata, limit / 2);
        }
        AgentEvent::Error { message: text, .. }
        | AgentEvent::SessionInvalid { reason: text }
        | AgentEvent::SessionChanged {
            new_session_id: text,
        } => truncate(text, limit),
    }
}

/// Truncates the strings of a value. A value that is large without long strings is replaced by its head.
fn truncate_value(value: &mut Value, limit: usize) {
    let mut max_len = limit / 2;
    while value_size(value) > limit && max_len >= 64 {
        truncate_strings(value, max_len);
        max_len /= 4;
    }
    let size = value_size(value);
    if size > limit {
        let mut head = value.to_string();
        truncate(&mut head, limit / 2);
        *value = serde_json::json!({ "cut": size, "head": head });
    }
}

fn truncate_strings(value: &mut Value, max_len: usize) {
    match value {
        Value::String(text) => truncate(text, max_len),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| truncate_strings(item, max_len)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| truncate_strings(field, max_len)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the head and the tail of a long text, with a mark between them that the text of other programs does not have.
pub(super) fn truncate_text(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    cut_with_mark(text, limit.saturating_sub(48), |missing| {
        format!("\n[{missing} bytes cut]\n")
    })
}

fn truncate(text: &mut String, limit: usize) {
    *text = truncate_text(std::mem::take(text), limit);
}

/// Returns the length of the longest text in an event under the limit.
pub(super) fn max_text(limit: usize) -> usize {
    limit.saturating_sub(64).max(4)
}

/// Splits text into events under the limit. No text is lost.
pub(super) fn split_text(
    text: String,
    limit: usize,
    to_event: impl Fn(String) -> AgentEvent,
    out: &mut VecDeque<BackendEvent>,
) {
    let size = max_text(limit);
    if text.len() <= size {
        out.push_back(to_event(text).into());
        return;
    }
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (head, tail) = rest.split_at(rest.floor_char_boundary(size).max(1));
        out.push_back(to_event(head.to_owned()).into());
        rest = tail;
    }
}
