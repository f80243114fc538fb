//! Answers, cut down to what an API can say.

use super::request::{is_empty, object_input};
use crate::{Dialect, Extra, ModelResponse, Part, StopReason};

/// For answers: nothing empty, nothing foreign, words that follow one another as one part.
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

/// Events carry no extra fields.
fn clear_extra(part: &mut Part) {
    match part {
        Part::Text(text) => text.extra = Extra::new(),
        Part::Reasoning(reasoning) => reasoning.extra = Extra::new(),
        Part::ToolCall(call) => call.extra = Extra::new(),
        _ => {}
    }
}

/// For answers of APIs without a word for "waiting for a result": calls alone say it.
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

/// For answers of APIs that know only JSON objects.
pub(crate) fn functions_only_response(response: &mut ModelResponse) {
    for part in &mut response.parts {
        if let Part::ToolCall(call) = part {
            object_input(call);
        }
    }
}

/// For answers of APIs that mark a thought's end only by its signature.
pub(crate) fn join_unsigned_thoughts(response: &mut ModelResponse) {
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
