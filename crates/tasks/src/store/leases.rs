//! The queue as a worker sees it.

use std::fmt;
use std::time::Duration;

use windlass_core::Usage;

use super::error::StoreFuture;
use crate::attempt::{Claim, Claimed, EarlierChange, LeaseStatus, Outcome, Release};
use crate::id::{AttemptRef, TaskId};
use crate::task::Task;

/// Lets workers claim tasks and end attempts. This is the part of a store that a worker needs.
///
/// Leases do not depend on the wall clock, which may jump
/// ([`LeaseClock`](windlass_core::LeaseClock)). Every write includes its [`AttemptRef`].
pub trait Leases: fmt::Debug + Send + Sync {
    /// Claims the next task with completed dependencies: highest priority, then lowest step, then lowest
    /// id. `fetch_next_task` of the worker's contract.
    fn claim(&self, claim: Claim) -> StoreFuture<'_, Option<Claimed>>;
    /// Renews the lease.
    fn heartbeat(&self, attempt: AttemptRef, lease: Duration) -> StoreFuture<'_, LeaseStatus>;
    /// Releases an unfinished attempt. The attempt does not count against the limit.
    fn release(&self, attempt: AttemptRef, release: Release) -> StoreFuture<'_, ()>;
    /// Reclaims tasks with an expired lease. They become pending, or failed if no attempt is left.
    fn reclaim_expired(&self) -> StoreFuture<'_, Vec<Task>>;
    /// Records the commit before it is published, so that recovery knows what to look for.
    fn record_intent(&self, attempt: AttemptRef, commit: String) -> StoreFuture<'_, ()>;
    /// Returns the commit that an earlier attempt was about to publish, if it ended without confirming it and
    /// no attempt has completed the task since.
    fn pending_intent(&self, task: TaskId) -> StoreFuture<'_, Option<String>>;
    /// Records the commit that keeps the attempt's change. Once the attempt has ended, only the first commit is
    /// accepted: another process may find the change after the attempt's worker died.
    fn record_change(&self, attempt: AttemptRef, commit: String) -> StoreFuture<'_, ()>;
    /// Returns the change that the next attempt starts from: the last recorded one since the last
    /// [`retry`](crate::TaskQueue::retry) with `fresh`.
    fn earlier_change(&self, task: TaskId) -> StoreFuture<'_, Option<EarlierChange>>;
    /// Ends an attempt. Status, proof, blocker and broadcast are written in one transaction.
    fn finish(&self, attempt: AttemptRef, outcome: Outcome, usage: Usage) -> StoreFuture<'_, Task>;
}
