//! What a request or an attempt went through, as a tree of the same nodes for every kind of agent.

mod collector;
mod diagnostics;
mod turn;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use collector::TraceCollector;
pub use diagnostics::TurnDiagnostics;
pub use turn::TurnTrace;

use crate::{ErrorCode, Timestamp, Usage};

/// One step and the steps inside it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceNode {
    /// What was done, such as `prompt` or `verify`.
    pub name: String,
    /// The agent that did it, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When it began.
    pub start: Timestamp,
    /// How long it took.
    pub duration_ms: u64,
    /// The exit code, where a process ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The end of what the process said on stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// The HTTP status, where a provider refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What it consumed; cost included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// How it failed, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TraceError>,
    /// The steps inside this one, in the order they began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<TraceNode>,
}

/// How a step failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceError {
    /// The kind of fault.
    pub code: ErrorCode,
    /// What happened.
    pub message: String,
}

impl TraceNode {
    /// The usage of this step and of all steps inside it.
    ///
    /// A step that reports its own usage is taken at its word: its children are part of it.
    pub fn total_usage(&self) -> Usage {
        if let Some(usage) = &self.usage {
            return usage.clone();
        }
        let mut sum = Usage::default();
        for child in &self.children {
            sum += &child.total_usage();
        }
        sum
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
