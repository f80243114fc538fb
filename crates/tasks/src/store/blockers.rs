//! Questions for a person.

use std::fmt;

use super::error::StoreFuture;
use crate::blocker::Blocker;
use crate::id::{BlockerId, ProjectId, TaskId};
use crate::task::Task;

/// Stores questions for a person. An attempt asks by ending with [`Outcome::Blocked`](crate::Outcome::Blocked).
pub trait Blockers: fmt::Debug + Send + Sync {
    /// Returns blockers, oldest first; only the open ones if `open` is `true`.
    fn blockers(&self, project: Option<ProjectId>, open: bool) -> StoreFuture<'_, Vec<Blocker>>;
    /// Returns the blockers of one task with their answers, oldest first.
    fn task_blockers(&self, task: TaskId) -> StoreFuture<'_, Vec<Blocker>>;
    /// Answers a blocker and resets its task to pending. A blocker can be answered once.
    fn answer_blocker(&self, blocker: BlockerId, text: String) -> StoreFuture<'_, Task>;
}
