//! Tasks that build on the changes of other tasks.

use std::fmt;

use super::error::StoreFuture;
use crate::base::{BasePart, DependencyChange};
use crate::id::{AttemptRef, TaskId};
use crate::task::{NewTask, Task};

/// Records what attempts are based on, and finds what is not up to date any more.
///
/// A completed task is `outdated` when a task in its base is completed with another commit. It is then pending
/// again, and so are the tasks that build on it.
pub trait Stacks: fmt::Debug + Send + Sync {
    /// Returns the changes of the tasks that this one depends on, directly or not. Each is returned once, and
    /// after those that it depends on itself; otherwise they are in the order of the dependencies.
    fn dependency_changes(&self, task: TaskId) -> StoreFuture<'_, Vec<DependencyChange>>;

    /// Records the commit that the attempt started from, and the changes of other tasks in it.
    fn record_base(
        &self,
        attempt: AttemptRef,
        base: String,
        parts: Vec<BasePart>,
    ) -> StoreFuture<'_, ()>;

    /// Adds the task that merges the changes on which the attempt's task depends, makes the attempt's task depend
    /// on it instead of on those that it merges, and releases the attempt. `merge` has an idempotency key: the
    /// same changes are merged by one task.
    fn wait_for_merge(&self, attempt: AttemptRef, merge: NewTask) -> StoreFuture<'_, Task>;

    /// Makes a completed dependency of the attempt's task outdated, for this reason, and releases the attempt.
    /// Does not change a task that is not completed.
    fn wait_for_update(
        &self,
        attempt: AttemptRef,
        dependency: TaskId,
        reason: String,
    ) -> StoreFuture<'_, Task>;
}
