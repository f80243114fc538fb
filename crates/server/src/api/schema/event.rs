//! Events and traces.

use serde_json::Value;
use utoipa::ToSchema;

use super::{TaskStatus, TestStatus, Usage};

/// An event of a task, as stored and as sent over the WebSocket.
#[expect(
    clippy::enum_variant_names,
    reason = "the variants have the names of the stored events"
)]
#[derive(ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Event {
    TaskStatus {
        /// Sequence number; increases without gaps.
        seq: u64,
        /// Milliseconds since the Unix epoch.
        at: u64,
        project_id: i64,
        task_id: i64,
        status: TaskStatus,
        agent_id: String,
    },
    TestResult {
        /// Sequence number; increases without gaps.
        seq: u64,
        /// Milliseconds since the Unix epoch.
        at: u64,
        project_id: i64,
        task_id: i64,
        status: TestStatus,
        passed: u64,
        failed: u64,
        errors: u64,
        total: u64,
        duration: f64,
    },
    CorrectionAttempt {
        /// Sequence number; increases without gaps.
        seq: u64,
        /// Milliseconds since the Unix epoch.
        at: u64,
        project_id: i64,
        task_id: i64,
        attempt_num: u32,
        max_attempts: u32,
        status: String,
        #[schema(required)]
        error_summary: Option<String>,
    },
    ActivityUpdate {
        /// Sequence number; increases without gaps.
        seq: u64,
        /// Milliseconds since the Unix epoch.
        at: u64,
        project_id: i64,
        activity_type: String,
        agent_id: String,
        message: String,
        #[schema(required)]
        task_id: Option<i64>,
    },
    AgentEvent {
        /// Sequence number; increases without gaps.
        seq: u64,
        /// Milliseconds since the Unix epoch.
        at: u64,
        project_id: i64,
        task_id: i64,
        attempt: u32,
        /// The agent's event with its sequence number, time, session and turn.
        #[schema(value_type = Object)]
        envelope: Value,
    },
}

#[derive(ToSchema)]
pub(crate) struct TraceError {
    code: String,
    message: String,
}

#[derive(ToSchema)]
pub(crate) struct TraceNode {
    name: String,
    #[schema(nullable = false)]
    agent: Option<String>,
    /// Milliseconds since the Unix epoch.
    start: u64,
    duration_ms: u64,
    #[schema(nullable = false)]
    exit_code: Option<i32>,
    #[schema(nullable = false)]
    stderr: Option<String>,
    #[schema(nullable = false)]
    usage: Option<Usage>,
    #[schema(nullable = false)]
    error: Option<TraceError>,
    /// The span of the caller, if this is a request that is part of the caller's trace (W3C Trace Context).
    #[schema(nullable = false)]
    traceparent: Option<String>,
    #[schema(no_recursion, nullable = false)]
    children: Option<Vec<TraceNode>>,
}
