//! Tasks, their attempts, and the store for both.

mod access;
mod attempt;
mod broadcast;
mod record;
mod store;
mod types;

pub use access::{
    AccessStore, AccessToken, BrowserSession, Credentials, MAX_SESSIONS, MAX_TOKEN_NAME_BYTES,
    MAX_TOKENS, NewAccessToken, Scope,
};
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

/// The id of a task within its store.
pub type TaskId = i64;
/// The id of a project within its store.
pub type ProjectId = i64;
/// The id of a parent issue within its store.
pub type IssueId = i64;
/// The number of an attempt at a task, counted from one.
pub type AttemptNumber = u32;
/// The id of a test result, a correction, a blocker or an approval within its store.
pub type RecordId = i64;

/// The default number of attempts before a task fails.
pub const MAX_ATTEMPTS: u32 = 3;
/// The highest attempt limit that a user may set for a task.
pub const MAX_ATTEMPT_LIMIT: u32 = 100;
/// The maximum number of correction rounds per attempt, in which the agent fixes failing tests.
pub const MAX_CORRECTIONS: u32 = 3;
