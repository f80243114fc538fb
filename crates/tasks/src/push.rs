//! Pushes of a task's branch to a remote.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_core::Timestamp;

use crate::id::{ProjectId, PushId, TaskId};

/// The state of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PushState {
    /// A worker pushes it when it is due.
    Queued,
    /// A process is pushing it.
    Pushing,
    /// The remote has the branch, and its pull request is open if one is configured.
    Pushed,
    /// It failed, and a person must do something first.
    Failed,
}

impl PushState {
    /// All values.
    pub const ALL: [Self; 4] = [Self::Queued, Self::Pushing, Self::Pushed, Self::Failed];

    /// Returns the name used in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Pushing => "pushing",
            Self::Pushed => "pushed",
            Self::Failed => "failed",
        }
    }

    /// Returns the state with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

/// A push of a task's branch to a remote. A task has at most one for each remote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Push {
    /// The id.
    pub id: PushId,
    /// The task.
    pub task_id: TaskId,
    /// The name of the remote.
    pub remote: String,
    /// The ref on the remote, such as `refs/heads/windlass/0000abcd/task-7`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The commit that the last successful push sent.
    pub commit: Option<String>,
    /// Commits that were sent since, without a confirmed result. The remote may have any of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sent: Vec<String>,
    /// The address of the pull request, or what its command printed.
    pub request: Option<String>,
    /// The state.
    pub state: PushState,
    /// Why the last try failed.
    pub error: Option<String>,
    /// The number of tries since it was requested.
    pub tries: u32,
    /// When a worker tries next; only for a queued push.
    pub due_at: Option<Timestamp>,
    /// When it last changed.
    pub at: Timestamp,
    /// The number of the last claim: the fencing token.
    #[serde(skip)]
    pub claim: u32,
}

impl Push {
    /// Returns the token for the writes of the process that claimed this push.
    pub fn at(&self) -> PushRef {
        PushRef {
            id: self.id,
            claim: self.claim,
        }
    }

    /// Returns `true` if this commit on the remote came from a push of ours.
    pub fn is_ours(&self, commit: &str) -> bool {
        self.commit.as_deref() == Some(commit) || self.sent.iter().any(|sent| sent == commit)
    }
}

/// The fencing token of a claimed push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PushRef {
    /// The push.
    pub id: PushId,
    /// The number of the claim.
    pub claim: u32,
}

/// A requested push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPush {
    /// The task.
    pub task_id: TaskId,
    /// The name of the remote.
    pub remote: String,
    /// The ref on the remote.
    pub reference: String,
}

/// A request for a push that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PushClaim {
    /// Only this push, due or not, whatever another process does with it.
    pub id: Option<PushId>,
    /// Only pushes of tasks of this project.
    pub project_id: Option<ProjectId>,
    /// After this time, another process may claim the push.
    pub lease: Duration,
}

/// The result of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushEnd {
    /// The remote has the commit.
    Pushed {
        /// The commit.
        commit: String,
        /// The pull request, if one was opened now.
        request: Option<String>,
    },
    /// Something failed.
    Failed {
        /// The commit, if the remote has it and only the pull request failed.
        commit: Option<String>,
        /// The reason.
        error: String,
        /// When a worker tries again. `None`: a person must do something first.
        retry_in: Option<Duration>,
    },
}
