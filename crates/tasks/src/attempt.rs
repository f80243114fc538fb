//! Attempts: leased tries at a task.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_core::{Timestamp, Usage};

use crate::base::BasePart;
use crate::id::{AttemptNumber, AttemptRef, ProjectId, TaskId, WorkerId};
use crate::proof::Proof;
use crate::task::{Task, WorkerKind};

/// The maximum number of correction rounds per attempt, in which the agent fixes failing tests.
pub const MAX_CORRECTIONS: u32 = 3;

/// A worker's request for a task. A claim that names its task takes it whatever the worker has, because a person chose
/// the worker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claim {
    /// The name of the worker. It is for display only and is not authenticated.
    pub worker: String,
    /// Only tasks of this project.
    pub project_id: Option<ProjectId>,
    /// Only this task.
    pub task: Option<TaskId>,
    /// Only tasks for these kinds of worker. Empty: any.
    pub kinds: Vec<WorkerKind>,
    /// The entry of the worker. A draining worker claims nothing.
    pub worker_id: Option<WorkerId>,
    /// The labels of the worker: only tasks that need no others.
    pub labels: Vec<String>,
    /// Only tasks that name no agent or one of these, by its name or as `NAME/MODEL`. `None`: any.
    pub agents: Option<Vec<String>>,
    /// How long the lease lasts without a heartbeat.
    pub lease: Duration,
}

/// A task that a worker has claimed. It stays with the worker while the lease is renewed.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// The task, with its status already set to in progress.
    pub task: Task,
    /// The fencing token for every write.
    pub attempt: AttemptRef,
}

/// The result of a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseStatus {
    /// The lease was renewed.
    Held,
    /// The lease was renewed, and cancellation of the task was requested.
    CancelRequested,
}

/// The outcome of an attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The change passed the tests, or the project explicitly has no tests.
    Completed {
        /// The proof. `None` means completed but unverified.
        proof: Option<Box<Proof>>,
        /// The branch that contains the change.
        branch: Option<String>,
        /// A description of the change.
        output: String,
    },
    /// The best candidate of the task was chosen. The task gets its agent, branch and proof, and the other
    /// candidates are cancelled.
    Chosen {
        /// The candidate.
        winner: TaskId,
        /// Why it was chosen.
        output: String,
    },
    /// It failed, and another attempt may follow.
    Failed {
        /// The reason.
        error: String,
        /// Whether another attempt may succeed, if one is left.
        again: bool,
    },
    /// It needs a person's answer.
    Blocked {
        /// The question.
        question: String,
    },
    /// The attempt was cancelled on request.
    Cancelled,
}

/// The release of an unfinished attempt. It does not count against the attempt limit: the worker stops, but
/// the task continues.
#[derive(Debug, Clone, PartialEq)]
pub struct Release {
    /// The reason, for display.
    pub reason: String,
    /// The usage of the attempt so far.
    pub usage: Usage,
}

/// The recorded change of an earlier attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierChange {
    /// The number of the attempt.
    pub attempt: AttemptNumber,
    /// The commit that keeps its change.
    pub commit: String,
}

/// The stored outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AttemptStatus {
    /// The attempt completed the task.
    Completed,
    /// The attempt failed.
    Failed,
    /// The attempt needs a person's answer.
    Blocked,
    /// The attempt was cancelled.
    Cancelled,
    /// The worker released the task.
    Released,
    /// The worker stopped sending heartbeats.
    Lost,
}

impl AttemptStatus {
    /// All values.
    pub const ALL: [Self; 6] = [
        Self::Completed,
        Self::Failed,
        Self::Blocked,
        Self::Cancelled,
        Self::Released,
        Self::Lost,
    ];

    /// Returns the name used in JSON and in the store.
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

    /// Returns the value with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

/// The session of an agent in an attempt. A later attempt can resume it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSession {
    /// The configured name of the agent.
    pub agent: String,
    /// The agent's own id of the session.
    pub id: String,
}

/// A stored attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The number of the attempt at its task.
    pub number: AttemptNumber,
    /// The worker that made the attempt.
    pub worker: String,
    /// When the attempt started.
    pub started_at: Timestamp,
    /// When the attempt ended. `None` while it is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<AttemptStatus>,
    /// Why it did not complete the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The commit that keeps the attempt's change, whatever the outcome. `None` if it changed no files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The agent's last session, if it has one that can be resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<AgentSession>,
    /// The commit that the attempt started from. `None` until its working copy is opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The changes of other tasks in the base that were not in its target yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base_parts: Vec<BasePart>,
    /// The usage of the attempt.
    pub usage: Usage,
}
