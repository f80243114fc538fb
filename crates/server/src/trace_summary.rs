//! The summary of a trace, in the API and on the command line.

use serde::Serialize;
use utoipa::ToSchema;
use windlass_core::{Timestamp, TraceError, TraceNode, Usage};
use windlass_tasks::{Attempt, AttemptStatus, TaskId};

use crate::api::schema;

/// The summary of a trace.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = TraceLine)]
pub struct TraceSummary {
    /// The id.
    pub id: String,
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<i64>)]
    pub task_id: Option<TaskId>,
    /// The name of the first step.
    pub name: String,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub agent: Option<String>,
    /// Milliseconds since the Unix epoch.
    #[schema(value_type = u64)]
    pub start: Timestamp,
    /// The duration in milliseconds.
    pub duration_ms: u64,
    /// The error, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<schema::TraceError>)]
    pub error: Option<TraceError>,
    /// The attempt of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub attempt: Option<u32>,
    /// How the attempt ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<schema::AttemptStatus>)]
    pub outcome: Option<AttemptStatus>,
    /// Tokens and cost of all steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<schema::Usage>)]
    pub usage: Option<Usage>,
}

impl TraceSummary {
    /// Creates the summary of a trace of this task, which has these attempts.
    pub fn new(id: String, root: TraceNode, task_id: Option<TaskId>, attempts: &[Attempt]) -> Self {
        let number = attempt_of_trace(&id);
        let mut attempts = attempts.iter();
        let attempt = attempts.find(|attempt| Some(attempt.number) == number);
        Self {
            task_id,
            attempt: attempt.map(|attempt| attempt.number),
            outcome: attempt.and_then(|attempt| attempt.outcome),
            usage: usage(&root),
            id,
            name: root.name,
            agent: root.agent,
            start: root.start,
            duration_ms: root.duration_ms,
            error: root.error,
        }
    }

    /// Returns how it ended: the outcome of the attempt, the code of the error, or `ok`.
    pub fn status(&self) -> String {
        match (self.outcome, &self.error) {
            (Some(outcome), _) => outcome.as_str().to_owned(),
            (None, Some(error)) => error.code.to_string(),
            (None, None) => "ok".to_owned(),
        }
    }
}

/// Returns the number of the attempt that a trace is of: `task-7-attempt-2` is of the second one.
fn attempt_of_trace(id: &str) -> Option<u32> {
    id.strip_prefix("task-")?.rsplit('-').next()?.parse().ok()
}

/// Returns the usage of a step, or of the steps in it.
fn usage(node: &TraceNode) -> Option<Usage> {
    if let Some(usage) = &node.usage {
        return Some(usage.clone());
    }
    let mut parts = node.children.iter().filter_map(usage);
    let mut sum = parts.next()?;
    parts.for_each(|part| sum += &part);
    Some(sum)
}
