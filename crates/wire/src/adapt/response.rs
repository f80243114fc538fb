//! Adaptation of responses to what an API supports.

use super::request::{is_empty, object_input};
use crate::{Dialect, Extra, ModelResponse, Part, StopReason};

/// Removes empty and foreign parts, and joins consecutive texts.
pub(crate) fn adapt_common_response(response: &mut ModelResponse, dialect: Dialect) {
    let mut parts: Vec<Part> = Vec::new();
    for part in std::mem::take(&mut response.parts) {
        match (parts.last_mut(), part) {
            (_, Part::Image(_) | Part::ToolResult(_)) => {}
            (_, Part::Opaque(opaque)) if opaque.dialect != dialect => {}
            (Some(Part::Text(last)), Part::Text(text)) => last.text.push_str(&text.text),
            (_, part) if is_empty(&part) => {}
            (_, mut part) => {
                clear_extra(&mut part);
                parts.push(part);
            }
        }
    }
    response.parts = parts;
}

/// Removes extra fields, which events do not have.
fn clear_extra(part: &mut Part) {
    match part {
        Part::Text(text) => text.extra = Extra::new(),
        Part::Reasoning(reasoning) => reasoning.extra = Extra::new(),
        Part::ToolCall(call) => call.extra = Extra::new(),
        _ => {}
    }
}

/// Sets the stop reason from the calls, for APIs that have no reason for "waiting for a result".
pub(crate) fn set_implied_stop(response: &mut ModelResponse) {
    let waiting = response.calls().next().is_some();
    response.stop = Some(match response.stop_or_implied() {
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::Pause => {
            if waiting {
                StopReason::ToolUse
            } else {
                StopReason::EndTurn
            }
        }
        other => other,
    });
}

/// Turns all calls into functions, for APIs that support only JSON objects.
pub(crate) fn functions_only_response(response: &mut ModelResponse) {
    for part in &mut response.parts {
        if let Part::ToolCall(call) = part {
            object_input(call);
        }
    }
}

/// Joins reasoning parts, for APIs that mark the end of reasoning only by its signature.
pub(crate) fn join_unsigned_reasoning(response: &mut ModelResponse) {
    let mut parts: Vec<Part> = Vec::new();
    for part in std::mem::take(&mut response.parts) {
        match (parts.last_mut(), part) {
            (Some(Part::Reasoning(last)), Part::Reasoning(next)) if last.signature.is_none() => {
                last.text.push_str(&next.text);
                last.signature = next.signature;
            }
            (_, part) => parts.push(part),
        }
    }
    response.parts = parts;
}
