//! Tool calls of APIs that omit call ids, or send calls only as a whole.

use std::collections::{HashMap, VecDeque};

use crate::{Message, Part, ToolCall};

/// Gives each call without an id one made from its position, and each result without an id that of its call:
/// the oldest unanswered call of the same tool.
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

/// Calls that are still being streamed, for APIs that send calls whole and in order.
#[derive(Debug, Default)]
pub(crate) struct CallBuffer {
    /// The calls, each with its index and whether it is complete.
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

    /// Returns the calls that can be sent now: those that are complete and not preceded by an incomplete one.
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

    /// Returns all remaining calls, complete or not.
    pub(crate) fn drain(&mut self) -> Vec<ToolCall> {
        self.waiting.drain(..).map(|(.., call)| call).collect()
    }
}
