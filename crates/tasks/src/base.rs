//! The base of an attempt: the commit that it starts from, and what that commit is made of.

use serde::{Deserialize, Serialize};

use crate::id::TaskId;

/// The change of a dependency that is part of a base.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BasePart {
    /// The task that made the change.
    pub task: TaskId,
    /// The published commit of the change.
    pub commit: String,
}

/// The change of a task that another one depends on, directly or through other tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DependencyChange {
    /// The task.
    pub task: TaskId,
    /// Its title.
    pub title: String,
    /// Whether the task is completed now.
    pub completed: bool,
    /// The commit of its last completed attempt. `None` if it is not recorded: then the branch has it.
    pub commit: Option<String>,
    /// The branch that contains the change.
    pub branch: Option<String>,
    /// The commit with which it landed on its target.
    pub landed: Option<String>,
    /// The task is about the tests themselves.
    pub edits_tests: bool,
}
