//! One leased try at a task.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{AttemptNumber, ProjectId, Proof, Task, TaskId, WorkerKind};
use crate::{Timestamp, Usage};

/// Which attempt writes: the fencing token that stands in every one of its writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AttemptRef {
    /// The task.
    pub task: TaskId,
    /// Which attempt at it.
    pub number: AttemptNumber,
}

impl std::fmt::Display for AttemptRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "attempt {} at task {}", self.number, self.task)
    }
}

/// What a worker asks for when it asks for work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Who asks; shown to people, trusted for nothing.
    pub worker: String,
    /// Only tasks of this project.
    pub project_id: Option<ProjectId>,
    /// Only this task.
    pub task: Option<TaskId>,
    /// Only tasks for these kinds of worker. Empty: any.
    pub kinds: Vec<WorkerKind>,
    /// How long the claim holds without a heartbeat.
    pub lease: Duration,
}

/// A task that is this worker's for as long as its lease is renewed.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// The task, already in progress.
    pub task: Task,
    /// The token for every write.
    pub attempt: AttemptRef,
}

/// What a heartbeat learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseStatus {
    /// Renewed.
    Held,
    /// Renewed, and somebody asked for the task to be cancelled.
    CancelRequested,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The change passed, or the project expressly has no tests.
    Completed {
        /// What shows it. `None`: completed, unverified.
        proof: Option<Box<Proof>>,
        /// The branch that holds the change.
        branch: Option<String>,
        /// What was changed and why.
        output: String,
    },
    /// It failed, and another attempt may follow.
    Failed {
        /// Why.
        error: String,
        /// Whether another attempt may help, if one is left.
        again: bool,
    },
    /// It needs a person's answer.
    Blocked {
        /// What to ask.
        question: String,
    },
    /// Somebody asked for it to stop.
    Cancelled,
}

/// An attempt handed back unfinished, without using it up: the worker stops, the task does not.
#[derive(Debug, Clone, PartialEq)]
pub struct Release {
    /// Why, for people.
    pub reason: String,
    /// What the attempt consumed meanwhile.
    pub usage: Usage,
}

/// How an attempt is remembered to have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AttemptStatus {
    /// The task was completed by it.
    Completed,
    /// It failed.
    Failed,
    /// It asked a person.
    Blocked,
    /// It was asked to stop.
    Cancelled,
    /// Its worker gave it back.
    Released,
    /// Its worker went silent.
    Lost,
}

impl AttemptStatus {
    /// Every ending.
    pub const ALL: [Self; 6] = [
        Self::Completed,
        Self::Failed,
        Self::Blocked,
        Self::Cancelled,
        Self::Released,
        Self::Lost,
    ];

    /// The name as it appears in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
            Self::Released => "released",
            Self::Lost => "lost",
        }
    }

    /// The ending of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ending| ending.as_str() == name)
    }
}

/// An attempt as it is remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Which attempt at its task.
    pub number: AttemptNumber,
    /// Who made it.
    pub worker: String,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended. `None`: it is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<AttemptStatus>,
    /// Why it did not complete the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it consumed.
    pub usage: Usage,
}
