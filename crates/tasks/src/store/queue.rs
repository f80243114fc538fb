//! The queue as a user sees it.

use std::fmt;

use super::error::StoreFuture;
use crate::id::TaskId;
use crate::task::{Enqueued, NewTask, Task, TaskFilter};

/// Adds, lists and changes tasks. This is the part of a store that a user needs.
pub trait TaskQueue: fmt::Debug + Send + Sync {
    /// Adds tasks, all or none. They are durable when this returns. Cycles are rejected.
    fn enqueue(&self, tasks: Vec<NewTask>) -> StoreFuture<'_, Vec<Enqueued>>;
    /// Makes a task depend on another one. Cycles are rejected.
    fn add_dependency(&self, task: TaskId, on: TaskId) -> StoreFuture<'_, ()>;
    /// Returns a task.
    fn task(&self, id: TaskId) -> StoreFuture<'_, Task>;
    /// Returns tasks ordered by id.
    fn tasks(&self, filter: TaskFilter) -> StoreFuture<'_, Vec<Task>>;
    /// Cancels a task: immediately if no worker runs it, otherwise as soon as its worker notices the request.
    fn cancel(&self, id: TaskId) -> StoreFuture<'_, Task>;
    /// Resets an ended or blocked task to pending, with a fresh attempt limit. With `fresh`, the next attempt
    /// starts from the base, not from the change of an earlier attempt.
    fn retry(&self, id: TaskId, fresh: bool) -> StoreFuture<'_, Task>;
    /// Accepts the warnings in the proof of a completed task: it no longer needs a review.
    fn accept(&self, id: TaskId) -> StoreFuture<'_, Task>;
}
