//! Landings: proved changes that are merged into a target branch.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_core::Timestamp;

use crate::id::{AttemptNumber, LandingId, LandingToken, ProjectId, TaskId};

/// The default for how often a landing may be returned to the task's agent before a person is asked.
pub const MAX_RETURNS: u32 = 2;

/// The commit with which a task's change landed on its target branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landed {
    /// The commit that the branch was moved to.
    pub commit: String,
    /// When it was recorded.
    pub at: Timestamp,
    /// Who requested it: a person, or the worker that landed it on its own.
    pub by: String,
}

/// The state of a landing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LandingState {
    /// Waits for its turn.
    Queued,
    /// A worker tests it and moves the branch.
    Landing,
    /// The branch contains the change.
    Landed,
    /// It conflicted or failed the tests. The branch was not moved.
    Returned,
}

impl LandingState {
    /// All values.
    pub const ALL: [Self; 4] = [Self::Queued, Self::Landing, Self::Landed, Self::Returned];

    /// Returns the name used in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Landing => "landing",
            Self::Landed => "landed",
            Self::Returned => "returned",
        }
    }

    /// Returns the state with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

impl std::fmt::Display for LandingState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An entry of a landing queue. Each target branch of a project has its own queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landing {
    /// The id. Entries land in this order.
    pub id: LandingId,
    /// The project of the task.
    pub project_id: ProjectId,
    /// The task.
    pub task: TaskId,
    /// The attempt that made the change.
    pub attempt: AttemptNumber,
    /// The branch.
    pub target: String,
    /// Who requested it.
    pub by: String,
    /// The state.
    pub state: LandingState,
    /// The worker that has it or had it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// The commits that a worker was about to move the branch to, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intents: Vec<String>,
    /// The dependencies of the task that have not landed. The entry waits for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<TaskId>,
    /// The commit with which it landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Why it was returned, or why it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The test cases that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<String>,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it landed or was returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// A landing to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLanding {
    /// The task. It must be completed.
    pub task: TaskId,
    /// The branch.
    pub target: String,
    /// Who requests it.
    pub by: String,
}

/// A worker's request for the next entries of one queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandingClaim {
    /// The name of the worker.
    pub worker: String,
    /// Only entries of this project.
    pub project_id: Option<ProjectId>,
    /// Only entries of these tasks. Empty: any.
    pub tasks: Vec<TaskId>,
    /// The maximum number of entries.
    pub max: u32,
    /// How long the lease lasts without a heartbeat.
    pub lease: Duration,
}

/// Entries of one queue that a worker has claimed. No other worker lands on their branch while the lease is
/// renewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedLandings {
    /// The fencing token for every write.
    pub token: LandingToken,
    /// The entries, at least one, in their order: dependencies before their dependants.
    pub entries: Vec<Landing>,
}

/// The outcome of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingOutcome {
    /// The branch contains the change.
    Landed {
        /// The commit that the branch was moved to.
        commit: String,
    },
    /// It conflicted or failed the tests. The task gets a new attempt, or a person is asked.
    Returned {
        /// The reason.
        reason: String,
        /// The test cases that failed.
        cases: Vec<String>,
        /// How often landings of the task may be returned before a person is asked.
        max_returns: u32,
    },
    /// The branch was not moved, and the task has no change to land any more.
    Withdrawn,
}

/// A filter for landings. An empty filter selects the newest of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LandingFilter {
    /// Only entries of this project.
    pub project_id: Option<ProjectId>,
    /// Only entries of this task.
    pub task: Option<TaskId>,
    /// Only entries that are queued or landing.
    pub open: bool,
}
