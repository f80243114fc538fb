//! What a store of tasks must be able to do.

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

/// A result whose error is [`StoreError`].
pub type StoreResult<T> = Result<T, StoreError>;

/// A future of a store.
pub type StoreFuture<'a, T> = BoxFuture<'a, StoreResult<T>>;

/// Keeps tasks, so that what was accepted is never lost and nothing is done twice.
///
/// Leases are judged by the store's own clock. Every write of an attempt carries its [`AttemptRef`]; once
/// the task is no longer that attempt's (its lease was swept, another one began, it ended), such a write changes
/// nothing and is answered with [`StoreError::Superseded`]. Two writes are kinder: `finish` said a second time in the
/// same way is answered like the first, because an answer may be lost; and `append` is taken from an attempt that
/// ended by its own word, because its last messages may come late.
///
/// Whatever changes a task's status here appends its [`Broadcast::TaskStatus`] in the same transaction; nobody else
/// needs to. An attempt's own changes (claim, finish, release) are told under its worker kind's `agent_id`, all others
/// (added, cancelled, retried, answered, swept, blocked by another task) under `worker`. So the number of the last
/// message grows whenever there may be something to claim.
pub trait TaskStore: fmt::Debug + Send + Sync {
    /// Makes a project known. The same root again gives the same project.
    fn add_project(&self, project: NewProject) -> StoreFuture<'_, Project>;
    /// One project.
    fn project(&self, id: ProjectId) -> StoreFuture<'_, Project>;
    /// All projects.
    fn projects(&self) -> StoreFuture<'_, Vec<Project>>;
    /// Adds a parent issue.
    fn add_issue(&self, issue: NewIssue) -> StoreFuture<'_, Issue>;
    /// One issue.
    fn issue(&self, id: IssueId) -> StoreFuture<'_, Issue>;

    /// Adds tasks, all or none. Durable once this returns. A cycle among them is refused.
    fn enqueue(&self, tasks: Vec<NewTask>) -> StoreFuture<'_, Vec<Enqueued>>;
    /// Lets a task wait for another one. A cycle is refused.
    fn add_dependency(&self, task: TaskId, on: TaskId) -> StoreFuture<'_, ()>;
    /// One task.
    fn task(&self, id: TaskId) -> StoreFuture<'_, Task>;
    /// Tasks in the order of their numbers.
    fn tasks(&self, filter: TaskFilter) -> StoreFuture<'_, Vec<Task>>;
    /// Asks for a task to stop: at once where none works on it, else at its worker's next heartbeat.
    fn cancel(&self, id: TaskId) -> StoreFuture<'_, Task>;
    /// Puts a task that ended or is blocked back to pending, with its attempts given anew.
    fn retry(&self, id: TaskId) -> StoreFuture<'_, Task>;

    /// Takes the next task: highest priority, then lowest step, then lowest number, whose dependencies
    /// are completed. `fetch_next_task` of the worker's contract.
    fn claim(&self, claim: Claim) -> StoreFuture<'_, Option<Claimed>>;
    /// Renews the lease.
    fn heartbeat(&self, attempt: AttemptRef, lease: Duration) -> StoreFuture<'_, LeaseStatus>;
    /// Gives an unfinished attempt back without using it up.
    fn release(&self, attempt: AttemptRef, release: Release) -> StoreFuture<'_, ()>;
    /// Takes back the tasks whose lease has run out: to pending, or to failed where no attempt is left.
    fn reclaim_expired(&self) -> StoreFuture<'_, Vec<Task>>;
    /// Writes down what is about to be published, before it is: recovery then knows where to look.
    fn record_intent(&self, attempt: AttemptRef, commit: String) -> StoreFuture<'_, ()>;
    /// What an earlier attempt was about to publish when it died, and never said it had.
    fn pending_intent(&self, task: TaskId) -> StoreFuture<'_, Option<String>>;
    /// Ends an attempt. Status, proof, blocker and the message to the watchers in one transaction.
    fn finish(&self, attempt: AttemptRef, outcome: Outcome, usage: Usage) -> StoreFuture<'_, Task>;
    /// The attempts at a task, oldest first.
    fn attempts(&self, task: TaskId) -> StoreFuture<'_, Vec<Attempt>>;

    /// Writes down a run of the tests.
    fn record_test(&self, attempt: AttemptRef, result: TestResult) -> StoreFuture<'_, RecordId>;
    /// The runs of a task's tests, oldest first, each with the number of its attempt.
    fn test_results(&self, task: TaskId) -> StoreFuture<'_, Vec<(u32, TestResult)>>;
    /// Writes down a round of correction.
    fn record_correction(
        &self,
        attempt: AttemptRef,
        round: Correction,
    ) -> StoreFuture<'_, RecordId>;
    /// The rounds of a task's corrections, oldest first, each with the number of its attempt.
    fn corrections(&self, task: TaskId) -> StoreFuture<'_, Vec<(u32, Correction)>>;
    /// The proof of a completed task.
    fn proof(&self, task: TaskId) -> StoreFuture<'_, Option<Proof>>;

    /// Adds messages for the watchers, and gives the number of the last. With an attempt it is fenced, and what its last call
    /// said already is not said twice: the answer to that may have been lost.
    fn append_events(
        &self,
        attempt: Option<AttemptRef>,
        messages: Vec<Broadcast>,
    ) -> StoreFuture<'_, u64>;
    /// Messages in the order of their numbers.
    fn events(&self, filter: EventFilter) -> StoreFuture<'_, Vec<LoggedEvent>>;
    /// Waits until there are messages after this number, at the latest for `patience`, and gives the number of the
    /// last one: what to wait for next. A worker without a task claims, waits from the number it was given, and
    /// claims again; nothing that was added between the two is slept through.
    fn wait_for_events(&self, after: u64, patience: Duration) -> StoreFuture<'_, u64>;

    /// Questions, oldest first; only the open ones if asked for.
    fn blockers(&self, project: Option<ProjectId>, open: bool) -> StoreFuture<'_, Vec<Blocker>>;
    /// The questions of one task with their answers, oldest first.
    fn task_blockers(&self, task: TaskId) -> StoreFuture<'_, Vec<Blocker>>;
    /// Answers a question; its task goes back to pending. A question is answered once.
    fn answer_blocker(&self, blocker: RecordId, text: String) -> StoreFuture<'_, Task>;

    /// Puts a permission request before whoever decides.
    fn request_approval(&self, approval: NewApproval) -> StoreFuture<'_, Approval>;
    /// One permission request.
    fn approval(&self, id: RecordId) -> StoreFuture<'_, Approval>;
    /// Permission requests, oldest first; only the undecided ones if asked for.
    fn approvals(&self, open: bool) -> StoreFuture<'_, Vec<Approval>>;
    /// Decides one. `None` withdraws it. The first decision holds.
    fn decide_approval(&self, id: RecordId, option: Option<String>) -> StoreFuture<'_, Approval>;

    /// Keeps a trace under its id, and with its task where it has one.
    fn put_trace(&self, id: String, task: Option<TaskId>, root: TraceNode) -> StoreFuture<'_, ()>;
    /// One trace.
    fn trace(&self, id: String) -> StoreFuture<'_, TraceNode>;
    /// The ids of the newest traces, of one task or of all.
    fn traces(&self, task: Option<TaskId>, limit: u32) -> StoreFuture<'_, Vec<String>>;
}

/// Why a store did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No such thing.
    #[error("there is no {what} {id}")]
    NotFound {
        /// A task, a project, a blocker.
        what: &'static str,
        /// The number or name asked for.
        id: String,
    },
    /// Another attempt has begun; this one changed nothing.
    #[error("{attempt} was superseded: another worker has the task")]
    Superseded {
        /// The attempt that wrote too late.
        attempt: AttemptRef,
    },
    /// The same idempotency key came with another body.
    #[error(
        "the idempotency key {key:?} belongs to task {task}, which is another one: use a new key"
    )]
    IdempotencyConflict {
        /// The key.
        key: String,
        /// The task that has it.
        task: TaskId,
    },
    /// What was asked for does not fit the rules or the state of things.
    #[error("{0}")]
    Refused(String),
    /// It took longer than it may. What was to be written may have been, if it had begun.
    #[error("{what} took longer than {} s", after.as_secs_f64())]
    Timeout {
        /// What was being waited for.
        what: &'static str,
        /// How long it was given.
        after: Duration,
    },
    /// No room left. Reading still works; writing does again when there is room.
    #[error("{0}")]
    Full(String),
    /// The store cannot be used: not there, read-only, of a newer version, damaged.
    #[error("{0}")]
    Unavailable(String),
}

impl StoreError {
    /// No such thing.
    pub fn not_found(what: &'static str, id: impl fmt::Display) -> Self {
        Self::NotFound {
            what,
            id: id.to_string(),
        }
    }

    /// Whether the attempt that wrote is no longer the task's.
    pub fn is_superseded(&self) -> bool {
        matches!(self, Self::Superseded { .. })
    }
}
