//! Notices a call that is repeated although it failed.

use std::collections::HashMap;

use windlass_wire::{Part, ToolCall, ToolResult};

use super::calls::RequestedCall;

/// The advice for a model that makes a failing call again.
const ADVICE: &str = include_str!("prompts/repeated.md");
/// The most calls that are remembered.
const MAX_CALLS: usize = 256;

/// The failed calls of one turn.
#[derive(Debug, Default)]
pub(super) struct FailedCalls {
    by_call: HashMap<(String, String), FailedCall>,
    /// Counts the successful calls that may have changed something.
    changes: u32,
}

#[derive(Debug)]
struct FailedCall {
    reason: String,
    times: u32,
    /// The number of changes at the last failure.
    changes: u32,
}

impl FailedCalls {
    /// Returns the result of a call that need not run: it failed before, and nothing has changed since.
    pub(super) fn known_failure(&self, requested: &RequestedCall) -> Option<String> {
        let failed = self.by_call.get(&key(&requested.for_history()))?;
        let is_same = failed.changes == self.changes;
        is_same.then(|| format!("{}\n\n{}", failed.reason, advice(failed.times + 1)))
    }

    /// Notes the result of a call. A failure that repeats itself although something has changed gets the advice too.
    pub(super) fn note(&mut self, requested: &RequestedCall, result: &mut ToolResult) {
        if !result.is_error {
            self.changes += u32::from(!requested.is_read_only());
            return;
        }
        let key = key(&requested.for_history());
        if self.by_call.len() >= MAX_CALLS && !self.by_call.contains_key(&key) {
            return;
        }
        let reason = result.text();
        let failed = self.by_call.entry(key).or_insert(FailedCall {
            reason: String::new(),
            times: 0,
            changes: 0,
        });
        let is_same = failed.reason == reason;
        failed.times = if is_same { failed.times + 1 } else { 1 };
        failed.changes = self.changes;
        failed.reason = reason;
        // A test run that fails twice is ordinary work.
        if failed.times > 2 {
            let text = format!("{}\n\n{}", failed.reason, advice(failed.times));
            result.parts = vec![Part::text(text)];
        }
    }
}

fn key(call: &ToolCall) -> (String, String) {
    (call.name.clone(), call.input.clone())
}

fn advice(times: u32) -> String {
    ADVICE.trim_end().replace("{times}", &times.to_string())
}
