//! The trace of a request or an attempt: a tree with the same nodes for every kind of agent.

mod collector;
mod diagnostics;
mod export;
mod ids;
mod turn;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use collector::TraceCollector;
pub use diagnostics::TurnDiagnostics;
pub use export::{SpanCounts, TraceObserver};
pub use ids::{TraceIds, TraceParent};
pub use turn::TurnTrace;

use crate::{ErrorCode, Timestamp, Usage};

/// One step with the steps inside it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceNode {
    /// The name of the step, such as `prompt` or `verify`.
    pub name: String,
    /// The agent that performed the step, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When the step started.
    pub start: Timestamp,
    /// The duration of the step.
    pub duration_ms: u64,
    /// The exit code, if a process ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The tail of the process's stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// The HTTP status, if a provider returned an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Tokens and cost of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The error, if the step failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TraceError>,
    /// The span of the caller, if this is a request that is part of the caller's trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<TraceParent>,
    /// The steps inside this one, in the order they started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<TraceNode>,
}

/// The error of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceError {
    /// The error code.
    pub code: ErrorCode,
    /// The error message.
    pub message: String,
}

impl TraceNode {
    /// Returns the usage of this step and of all steps inside it.
    ///
    /// The usage that a step reports itself already includes its children.
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
