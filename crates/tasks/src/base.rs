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

/// What the base of an attempt is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseRequest {
    /// The branch that the work is for. `None` selects the one that is checked out.
    pub target: Option<String>,
    /// The changes of dependencies, in the order in which they are merged.
    pub changes: Vec<BaseChange>,
    /// Keeps a conflict of the last change in the files, for an agent to resolve.
    pub keeps_conflicts: bool,
}

/// A change to merge into a base, unless the target contains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseChange {
    /// The change.
    pub part: BasePart,
    /// The commit with which it landed. If the target contains that one, the change is not merged.
    pub landed: Option<String>,
}

/// A change that cannot be merged into a base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseConflict {
    /// The change.
    pub part: BasePart,
    /// The changes that it conflicts with. Empty: it conflicts with the target.
    pub with: Vec<BasePart>,
    /// The conflicting files, limited in number.
    pub files: Vec<ConflictingFile>,
}

/// A file that two changes edit differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictingFile {
    /// The path, relative to the root.
    pub path: String,
    /// The conflicting lines of both sides between conflict markers, limited in size. Empty if the file is not text,
    /// or one side deleted it.
    pub lines: String,
}
