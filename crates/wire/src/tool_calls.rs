//! Calls of APIs that leave their ids out, or send them only whole.

use std::collections::{HashMap, VecDeque};

use crate::{Message, Part, ToolCall};

/// Gives every call without an id one made from its place, and every result without one that of the call it must mean: the oldest
/// unanswered call of the same tool.
pub(crate) fn assign_call_ids(messages: &mut [Message]) {
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

/// Calls that are still coming, for APIs that send them whole and in order.
#[derive(Debug, Default)]
pub(crate) struct CallBuffer {
    /// Each with its index and whether it is complete.
    waiting: VecDeque<(usize, bool, ToolCall)>,
}

impl CallBuffer {
    pub(crate) fn start(&mut self, index: usize, call: ToolCall) {
        self.waiting.push_back((index, false, call));
    }

    pub(crate) fn push_input(&mut self, index: usize, delta: &str) {
        if let Some((_, _, call)) = self.waiting.iter_mut().find(|(at, ..)| *at == index) {
            call.input.push_str(delta);
        }
    }

    /// Gives the calls that may go out now: those that are complete and have no incomplete one before them.
    pub(crate) fn finish(&mut self, index: usize) -> Vec<ToolCall> {
        for (at, complete, _) in &mut self.waiting {
            *complete |= *at == index;
        }
        let ready = self
            .waiting
            .iter()
            .take_while(|(_, complete, _)| *complete)
            .count();
        self.waiting.drain(..ready).map(|(.., call)| call).collect()
    }

    /// Gives all that are left, complete or not.
    pub(crate) fn drain(&mut self) -> Vec<ToolCall> {
        self.waiting.drain(..).map(|(.., call)| call).collect()
    }
}
