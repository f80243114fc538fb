//! The ids of a store's records.

use serde::{Deserialize, Serialize};

/// The id of a task within its store.
pub type TaskId = i64;
/// The id of a project within its store.
pub type ProjectId = i64;
/// The id of a parent issue within its store.
pub type IssueId = i64;
/// The number of an attempt at a task, counted from one.
pub type AttemptNumber = u32;
/// The id of a test result, a correction, a blocker or an approval within its store.
pub type RecordId = i64;

/// Identifies an attempt. It is the fencing token of every write by the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AttemptRef {
    /// The task.
    pub task: TaskId,
    /// The number of the attempt.
    pub number: AttemptNumber,
}

impl std::fmt::Display for AttemptRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "attempt {} at task {}", self.number, self.task)
    }
}
