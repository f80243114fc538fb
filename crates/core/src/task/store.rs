//! The interface of a task store.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;

use super::{
    Approval, Attempt, AttemptRef, Blocker, Broadcast, Claim, Claimed, Correction, Enqueued,
    EventFilter, Issue, IssueId, LeaseStatus, LoggedEvent, NewApproval, NewIssue, NewProject,
    NewTask, Outcome, Project, ProjectId, Proof, RecordId, Release, Task, TaskFilter, TaskId,
    TestResult,
};
use crate::{TraceNode, Usage};

/// A [`Result`] with [`StoreError`].
pub type StoreResult<T> = Result<T, StoreError>;

/// A future returned by a store.
pub type StoreFuture<'a, T> = BoxFuture<'a, StoreResult<T>>;

/// Stores tasks durably. Accepted tasks are never lost, and no task is completed twice.
///
/// Leases do not depend on the wall clock, which may jump ([`LeaseClock`](crate::LeaseClock)). Every write of an attempt includes its [`AttemptRef`]. Once
/// the attempt no longer owns the task (its lease was reclaimed, another attempt started, it ended), such a
/// write changes nothing and fails with [`StoreError::Superseded`]. There are two exceptions. A repeated
/// `finish` with the same outcome returns the same result, because the first response may have been lost.
/// And `append_events` is accepted from an attempt that ended by `finish` or `release`, because its last
/// messages may arrive late.
///
/// Every operation that changes the status of a task appends its [`Broadcast::TaskStatus`] in the same
/// transaction; callers need not. Changes by an attempt (claim, finish, release) have the `agent_id` of its
/// worker kind, all others (added, cancelled, retried, answered, reclaimed, blocked by another task) have
/// `worker`. So the number of the last message increases whenever there may be a task to claim.
pub trait TaskStore: fmt::Debug + Send + Sync {
    /// Registers a project. A known root returns the existing project.
    fn add_project(&self, project: NewProject) -> StoreFuture<'_, Project>;
    /// Returns a project.
    fn project(&self, id: ProjectId) -> StoreFuture<'_, Project>;
    /// Returns all projects.
    fn projects(&self) -> StoreFuture<'_, Vec<Project>>;
    /// Adds a parent issue.
    fn add_issue(&self, issue: NewIssue) -> StoreFuture<'_, Issue>;
    /// Returns an issue.
    fn issue(&self, id: IssueId) -> StoreFuture<'_, Issue>;

    /// Adds tasks, all or none. They are durable when this returns. Cycles are rejected.
    fn enqueue(&self, tasks: Vec<NewTask>) -> StoreFuture<'_, Vec<Enqueued>>;
    /// Makes a task depend on another one. Cycles are rejected.
    fn add_dependency(&self, task: TaskId, on: TaskId) -> StoreFuture<'_, ()>;
    /// Returns a task.
    fn task(&self, id: TaskId) -> StoreFuture<'_, Task>;
    /// Returns tasks ordered by id.
    fn tasks(&self, filter: TaskFilter) -> StoreFuture<'_, Vec<Task>>;
    /// Cancels a task: immediately if no worker runs it, otherwise at the worker's next heartbeat.
    fn cancel(&self, id: TaskId) -> StoreFuture<'_, Task>;
    /// Resets an ended or blocked task to pending, with a fresh attempt limit.
    fn retry(&self, id: TaskId) -> StoreFuture<'_, Task>;

    /// Claims the next task whose dependencies are completed: highest priority, then lowest step, then lowest
    /// id. `fetch_next_task` of the worker's contract.
    fn claim(&self, claim: Claim) -> StoreFuture<'_, Option<Claimed>>;
    /// Renews the lease.
    fn heartbeat(&self, attempt: AttemptRef, lease: Duration) -> StoreFuture<'_, LeaseStatus>;
    /// Releases an unfinished attempt. The attempt does not count against the limit.
    fn release(&self, attempt: AttemptRef, release: Release) -> StoreFuture<'_, ()>;
    /// Reclaims tasks with an expired lease. They become pending, or failed if no attempt is left. A lease of
    /// another machine expires when this store has seen it unchanged for its length, over several calls.
    fn reclaim_expired(&self) -> StoreFuture<'_, Vec<Task>>;
    /// Records the commit before it is published, so that recovery knows what to look for.
    fn record_intent(&self, attempt: AttemptRef, commit: String) -> StoreFuture<'_, ()>;
    /// Returns the commit that an earlier attempt was about to publish, if it ended without confirming it.
    fn pending_intent(&self, task: TaskId) -> StoreFuture<'_, Option<String>>;
    /// Ends an attempt. Status, proof, blocker and broadcast are written in one transaction.
    fn finish(&self, attempt: AttemptRef, outcome: Outcome, usage: Usage) -> StoreFuture<'_, Task>;
    /// Returns the attempts at a task, oldest first.
    fn attempts(&self, task: TaskId) -> StoreFuture<'_, Vec<Attempt>>;

    /// Records a test run.
    fn record_test(&self, attempt: AttemptRef, result: TestResult) -> StoreFuture<'_, RecordId>;
    /// Returns the test runs of a task, oldest first, each with the number of its attempt.
    fn test_results(&self, task: TaskId) -> StoreFuture<'_, Vec<(u32, TestResult)>>;
    /// Records a correction round.
    fn record_correction(
        &self,
        attempt: AttemptRef,
        round: Correction,
    ) -> StoreFuture<'_, RecordId>;
    /// Returns the correction rounds of a task, oldest first, each with the number of its attempt.
    fn corrections(&self, task: TaskId) -> StoreFuture<'_, Vec<(u32, Correction)>>;
    /// Returns the proof of a completed task.
    fn proof(&self, task: TaskId) -> StoreFuture<'_, Option<Proof>>;

    /// Appends messages for subscribers and returns the number of the last one. With an attempt the write is
    /// fenced, and messages of its previous call are not stored twice: the caller may repeat a call whose
    /// response was lost.
    fn append_events(
        &self,
        attempt: Option<AttemptRef>,
        messages: Vec<Broadcast>,
    ) -> StoreFuture<'_, u64>;
    /// Returns messages ordered by number.
    fn events(&self, filter: EventFilter) -> StoreFuture<'_, Vec<LoggedEvent>>;
    /// Waits until there are messages after this number, at most for `timeout`, and returns the number of the
    /// last one. Pass it to the next call. An idle worker claims, waits from the last number, and claims
    /// again, so that it misses no task added between the two calls.
    fn wait_for_events(&self, after: u64, timeout: Duration) -> StoreFuture<'_, u64>;

    /// Returns blockers, oldest first; only the open ones if `open` is `true`.
    fn blockers(&self, project: Option<ProjectId>, open: bool) -> StoreFuture<'_, Vec<Blocker>>;
    /// Returns the blockers of one task with their answers, oldest first.
    fn task_blockers(&self, task: TaskId) -> StoreFuture<'_, Vec<Blocker>>;
    /// Answers a blocker and resets its task to pending. A blocker can be answered once.
    fn answer_blocker(&self, blocker: RecordId, text: String) -> StoreFuture<'_, Task>;

    /// Stores a permission request for a decision.
    fn request_approval(&self, approval: NewApproval) -> StoreFuture<'_, Approval>;
    /// Returns a permission request.
    fn approval(&self, id: RecordId) -> StoreFuture<'_, Approval>;
    /// Returns permission requests, oldest first; only the pending ones if `open` is `true`.
    fn approvals(&self, open: bool) -> StoreFuture<'_, Vec<Approval>>;
    /// Decides a permission request. `None` withdraws it. The first decision is final.
    fn decide_approval(&self, id: RecordId, option: Option<String>) -> StoreFuture<'_, Approval>;

    /// Stores a trace under its id, with its task if it has one.
    fn put_trace(&self, id: String, task: Option<TaskId>, root: TraceNode) -> StoreFuture<'_, ()>;
    /// Returns a trace.
    fn trace(&self, id: String) -> StoreFuture<'_, TraceNode>;
    /// Returns the ids of the newest traces, of one task or of all.
    fn traces(&self, task: Option<TaskId>, limit: u32) -> StoreFuture<'_, Vec<String>>;
}

/// The error of a store operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The record does not exist.
    #[error("there is no {what} {id}")]
    NotFound {
        /// The kind of record, such as task, project or blocker.
        what: &'static str,
        /// The requested id or name.
        id: String,
    },
    /// Another attempt has started. The write of this attempt changed nothing.
    #[error("{attempt} was superseded: another worker has the task")]
    Superseded {
        /// The superseded attempt.
        attempt: AttemptRef,
    },
    /// The idempotency key was used with a different request.
    #[error(
        "the idempotency key {key:?} belongs to task {task}, which is different: use a new key"
    )]
    IdempotencyConflict {
        /// The key.
        key: String,
        /// The task with this key.
        task: TaskId,
    },
    /// The request is invalid, or the current state does not allow it.
    #[error("{0}")]
    Refused(String),
    /// The operation exceeded its time limit. A write that had already started may have been committed.
    #[error("{what} took longer than {} s", after.as_secs_f64())]
    Timeout {
        /// The operation.
        what: &'static str,
        /// The time limit.
        after: Duration,
    },
    /// The disk is full. Reads still work; writes work again when there is space.
    #[error("{0}")]
    Full(String),
    /// The store cannot be used: it does not exist, is read-only, has a newer version, or is damaged.
    #[error("{0}")]
    Unavailable(String),
}

impl StoreError {
    /// Creates a [`NotFound`](Self::NotFound) error.
    pub fn not_found(what: &'static str, id: impl fmt::Display) -> Self {
        Self::NotFound {
            what,
            id: id.to_string(),
        }
    }

    /// Returns `true` if the writing attempt no longer owns its task.
    pub fn is_superseded(&self) -> bool {
        matches!(self, Self::Superseded { .. })
    }
}
