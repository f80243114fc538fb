//! Messages for subscribers: four kinds of message about tasks, and agent events.

use serde::{Deserialize, Serialize};
use windlass_core::{Envelope, Timestamp};

use crate::id::{AttemptNumber, ProjectId, TaskId};
use crate::record::TestStatus;
use crate::task::TaskStatus;

/// A message about a task. Its JSON is a stable contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Broadcast {
    /// The status of a task changed.
    TaskStatus {
        /// The project.
        project_id: ProjectId,
        /// The task.
        task_id: TaskId,
        /// The new status.
        status: TaskStatus,
        /// The source of the change.
        agent_id: String,
    },
    /// The tests ran.
    TestResult {
        /// The project.
        project_id: ProjectId,
        /// The task.
        task_id: TaskId,
        /// The outcome of the run.
        status: TestStatus,
        /// The number of passed tests.
        passed: u64,
        /// The number of failed tests.
        failed: u64,
        /// The number of tests without a verdict.
        errors: u64,
        /// The number of all tests.
        total: u64,
        /// The duration in seconds.
        duration: f64,
        /// Why the tests did not pass, if there are no counts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
    /// A correction round started or ended.
    CorrectionAttempt {
        /// The project.
        project_id: ProjectId,
        /// The task.
        task_id: TaskId,
        /// The number of the round, counted from one.
        attempt_num: u32,
        /// The maximum number of rounds.
        max_attempts: u32,
        /// `in_progress`, `success` or `failed`.
        status: String,
        /// A summary of the error.
        #[serde(default)]
        error_summary: Option<String>,
    },
    /// Any other activity of interest to a user.
    ActivityUpdate {
        /// The project.
        project_id: ProjectId,
        /// The kind of activity.
        activity_type: String,
        /// The source of the activity.
        agent_id: String,
        /// A description.
        message: String,
        /// The task concerned, if any.
        #[serde(default)]
        task_id: Option<TaskId>,
    },
    /// An event of an agent, as sent by the handle.
    AgentEvent {
        /// The project.
        project_id: ProjectId,
        /// The task.
        task_id: TaskId,
        /// The number of the attempt.
        attempt: AttemptNumber,
        /// The event.
        envelope: Box<Envelope>,
    },
}

impl Broadcast {
    /// Returns the project of the message.
    pub fn project_id(&self) -> ProjectId {
        match self {
            Self::TaskStatus { project_id, .. }
            | Self::TestResult { project_id, .. }
            | Self::CorrectionAttempt { project_id, .. }
            | Self::ActivityUpdate { project_id, .. }
            | Self::AgentEvent { project_id, .. } => *project_id,
        }
    }

    /// Returns the task of the message, if any.
    pub fn task_id(&self) -> Option<TaskId> {
        match self {
            Self::TaskStatus { task_id, .. }
            | Self::TestResult { task_id, .. }
            | Self::CorrectionAttempt { task_id, .. }
            | Self::AgentEvent { task_id, .. } => Some(*task_id),
            Self::ActivityUpdate { task_id, .. } => *task_id,
        }
    }
}

/// A stored message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoggedEvent {
    /// The number in the store. It increases without gaps, and no message becomes visible before one with a
    /// lower number.
    pub seq: u64,
    /// When it was stored.
    pub at: Timestamp,
    /// The message.
    #[serde(flatten)]
    pub message: Broadcast,
}

/// A filter for messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only messages of this project.
    pub project_id: Option<ProjectId>,
    /// Only messages of this task.
    pub task_id: Option<TaskId>,
    /// Only messages after this number.
    pub after: u64,
    /// Only messages before this number: the newest of them, oldest first.
    pub before: Option<u64>,
    /// The maximum number of messages; zero selects the store's limit.
    pub limit: u32,
}
