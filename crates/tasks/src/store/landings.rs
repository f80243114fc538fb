//! The landing queues.

use std::fmt;
use std::time::Duration;

use super::error::StoreFuture;
use crate::id::{LandingId, LandingToken, ProjectId, TaskId};
use crate::landing::{
    ClaimedLandings, Landing, LandingClaim, LandingFilter, LandingOutcome, NewLanding,
};
use crate::task::Task;

/// Stores the queues of proved changes, one for each target branch of a project. Entries of one queue are claimed
/// by one worker at a time.
///
/// A write with the token of a lease that was taken over changes nothing and fails with
/// [`StoreError::LandingLost`](crate::StoreError::LandingLost).
pub trait Landings: fmt::Debug + Send + Sync {
    /// Sets whether a task lands when it is proved. `false` also removes its waiting entry.
    fn set_land(&self, task: TaskId, land: bool) -> StoreFuture<'_, Task>;
    /// Returns the tasks that are to land, are proved and accepted, and have no entry yet, oldest first.
    fn due_landings(&self, project: Option<ProjectId>) -> StoreFuture<'_, Vec<Task>>;
    /// Adds a completed task to the queue of a branch. A task that waits there keeps its position.
    fn enqueue_landing(&self, new: NewLanding) -> StoreFuture<'_, Landing>;
    /// Claims the next entries of a queue that no other worker has. Leases that have expired end first. An entry
    /// waits until the dependencies of its task have landed.
    fn claim_landings(&self, claim: LandingClaim) -> StoreFuture<'_, Option<ClaimedLandings>>;
    /// Renews the lease.
    fn heartbeat_landings(&self, token: LandingToken, lease: Duration) -> StoreFuture<'_, ()>;
    /// Records the commit before the branch is moved to it with these entries, so that the next worker knows what
    /// to look for.
    fn record_landing_intent(
        &self,
        token: LandingToken,
        entries: Vec<LandingId>,
        commit: String,
    ) -> StoreFuture<'_, ()>;
    /// Ends a landing. Landing and task are written in one transaction. Repeating a call has no effect.
    fn finish_landing(
        &self,
        token: LandingToken,
        entry: LandingId,
        outcome: LandingOutcome,
    ) -> StoreFuture<'_, Task>;
    /// Puts the claimed entries that have not ended back into the queue, at their position, with the reason why they
    /// wait.
    fn release_landings(&self, token: LandingToken, reason: Option<String>) -> StoreFuture<'_, ()>;
    /// Returns landings, oldest first, of many the newest.
    fn landings(&self, filter: LandingFilter) -> StoreFuture<'_, Vec<Landing>>;
    /// Records that a completed task's change was brought to a branch without the queue. A waiting entry ends.
    fn record_landed(&self, new: NewLanding, commit: String) -> StoreFuture<'_, Task>;
    /// Forgets that a task has landed, so that it can be retried.
    fn forget_landed(&self, task: TaskId) -> StoreFuture<'_, Task>;
}
