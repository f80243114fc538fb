//! Reviews of changes.

use std::fmt;

use super::error::StoreFuture;
use crate::id::{AttemptRef, TaskId};
use crate::proof::Proof;
use crate::review::{NewReview, Review};
use crate::task::Task;

/// Stores reviews of the changes of tasks.
pub trait Reviews: fmt::Debug + Send + Sync {
    /// Adds a review, in one transaction with its effect on the task, and returns both.
    ///
    /// It is refused unless it is about the newest version: the last attempt that has a change. Only the change
    /// of a completed task can be approved or sent back. `request_changes` puts the task back to pending, with a
    /// new attempt limit, and its next attempts receive the [open reviews](Self::open_reviews). `approve` ends the
    /// need for a review. An agent cannot approve, and can request changes only
    /// [`MAX_AGENT_REQUESTS`](crate::MAX_AGENT_REQUESTS) times before a person reviews the task.
    ///
    /// A repeated call with the same review returns the stored one, because the first response may have been lost.
    fn add_review(&self, review: NewReview) -> StoreFuture<'_, (Review, Task)>;
    /// Returns the reviews of a task, oldest first.
    fn reviews(&self, task: TaskId) -> StoreFuture<'_, Vec<Review>>;
    /// Returns the reviews that the next attempt must deal with, oldest first: those of the newest completed
    /// version and later, if changes were requested and no attempt has completed the task since.
    fn open_reviews(&self, task: TaskId) -> StoreFuture<'_, Vec<Review>>;
    /// Returns the proof of one version.
    fn proof_of(&self, version: AttemptRef) -> StoreFuture<'_, Option<Proof>>;
}
