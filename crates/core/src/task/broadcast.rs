//! What is told to everybody who watches: four kinds of message, and the agents' own events.

use serde::{Deserialize, Serialize};

use super::{AttemptNumber, ProjectId, TaskId, TaskStatus, TestStatus};
use crate::{Envelope, Timestamp};

/// A message about a task. Its JSON is a contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Broadcast {
    /// A task changed its status.
    TaskStatus {
        /// The project.
        project_id: ProjectId,
        /// The task.
        task_id: TaskId,
        /// What it is now.
        status: TaskStatus,
        /// Who says so.
        agent_id: String,
    },
    /// The tests were run.
    TestResult {
        /// The project.
        project_id: ProjectId,
        /// The task.
        task_id: TaskId,
        /// How they ended.
        status: TestStatus,
        /// Green ones.
        passed: u64,
        /// Red ones.
        failed: u64,
        /// Those without a verdict.
        errors: u64,
        /// All.
        total: u64,
        /// In seconds.
        duration: f64,
    },
    /// A round of correction began or ended.
    CorrectionAttempt {
        /// The project.
        project_id: ProjectId,
        /// The task.
        task_id: TaskId,
        /// Which round, from one.
        attempt_num: u32,
        /// How many there may be.
        max_attempts: u32,
        /// `in_progress`, `success` or `failed`.
        status: String,
        /// What went wrong.
        #[serde(default)]
        error_summary: Option<String>,
    },
    /// Something else that a person may want to know.
    ActivityUpdate {
        /// The project.
        project_id: ProjectId,
        /// What kind of thing.
        activity_type: String,
        /// Who did it.
        agent_id: String,
        /// In words.
        message: String,
        /// The task it is about.
        #[serde(default)]
        task_id: Option<TaskId>,
    },
    /// An agent's event, as it left the handle.
    AgentEvent {
        /// The project.
        project_id: ProjectId,
        /// The task.
        task_id: TaskId,
        /// Which attempt at it.
        attempt: AttemptNumber,
        /// The event.
        envelope: Box<Envelope>,
    },
}

impl Broadcast {
    /// The project it is about.
    pub fn project_id(&self) -> ProjectId {
        match self {
            Self::TaskStatus { project_id, .. }
            | Self::TestResult { project_id, .. }
            | Self::CorrectionAttempt { project_id, .. }
            | Self::ActivityUpdate { project_id, .. }
            | Self::AgentEvent { project_id, .. } => *project_id,
        }
    }

    /// The task it is about, where it is about one.
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

/// A message as it stands in the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoggedEvent {
    /// Its number in the store: growing, without gaps, and never seen before a lower one.
    pub seq: u64,
    /// When it was stored.
    pub at: Timestamp,
    /// The message.
    #[serde(flatten)]
    pub message: Broadcast,
}

/// Which messages to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only those of this project.
    pub project_id: Option<ProjectId>,
    /// Only those of this task.
    pub task_id: Option<TaskId>,
    /// Only those after this number.
    pub after: u64,
    /// At most so many; zero means the store's own limit.
    pub limit: u32,
}
