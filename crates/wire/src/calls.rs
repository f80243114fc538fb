//! Ids for calls of APIs that leave them out.

use std::collections::HashMap;

use crate::{Message, Part};

/// Gives every call without an id one made from its place, and every result without one that of the call it must mean: the oldest
/// unanswered call of the same tool.
pub(crate) fn name_calls(messages: &mut [Message]) {
    let mut waiting: HashMap<String, Vec<String>> = HashMap::new();
    for (at, message) in messages.iter_mut().enumerate() {
        for (nth, part) in message.parts.iter_mut().enumerate() {
            match part {
                Part::ToolCall(call) => {
                    if call.id.is_empty() {
                        call.id = format!("call_{at}_{nth}");
                    }
                    let open = waiting.entry(call.name.clone()).or_default();
                    open.push(call.id.clone());
                }
                Part::ToolResult(result) => {
                    let open = waiting.entry(result.name.clone()).or_default();
                    if result.call_id.is_empty() {
                        result.call_id = match open.first() {
                            Some(id) => id.clone(),
                            None => format!("call_{}", result.name),
                        };
                    }
                    open.retain(|id| *id != result.call_id);
                }
                _ => {}
            }
        }
    }
}
