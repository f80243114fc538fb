//! Tasks: durable wishes, the attempts at them, and the store that keeps both.

mod attempt;
mod broadcast;
mod record;
mod store;
mod types;

pub use attempt::{
    Attempt, AttemptRef, AttemptStatus, Claim, Claimed, LeaseStatus, Outcome, Release,
};
pub use broadcast::{Broadcast, EventFilter, LoggedEvent};
pub use record::{
    Answer, Approval, ApprovalDecision, Blocker, Correction, NewApproval, Proof, TestCase,
    TestCounts, TestResult, TestStatus,
};
pub use store::{StoreError, StoreFuture, StoreResult, TaskStore};
pub use types::{
    Dependency, Enqueued, Issue, NewIssue, NewProject, NewTask, Project, Task, TaskFilter,
    TaskStatus, WorkerKind,
};

/// Names a task within its store.
pub type TaskId = i64;
/// Names a project within its store.
pub type ProjectId = i64;
/// Names a parent issue within its store.
pub type IssueId = i64;
/// Counts the attempts at one task, from one.
pub type AttemptNumber = u32;
/// Names a test result, a correction, a blocker or an approval within its store.
pub type RecordId = i64;

/// The attempts a task is given before it is called failed.
pub const MAX_ATTEMPTS: u32 = 3;
/// The rounds in which an attempt may mend what its tests showed.
pub const MAX_CORRECTIONS: u32 = 3;
