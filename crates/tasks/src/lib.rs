//! Tasks: their types, the store that keeps them, and what a worker needs to do them.
//!
//! [`TaskStore`] is the contract of a store. [`Workspace`], [`Verifier`] and [`ContextSource`] are the rest of
//! what a worker sees; tests replace all of them with a simulator.
//!
//! This crate contains types and traits only. It does no I/O and knows no database.

mod access;
mod account_limit;
mod agent_settings;
mod approval;
mod attempt;
mod audit;
mod base;
mod best_of;
mod blocker;
mod broadcast;
mod cases;
mod context;
mod diff_lines;
mod id;
mod landing;
mod landing_site;
mod message;
mod model_call;
mod note;
mod notification;
mod project;
mod proof;
mod push;
mod record;
mod review;
mod schedule;
mod steering;
mod store;
mod task;
mod totals;
mod usage_row;
mod verifier;
mod waiting;
mod worker;
mod workspace;

pub use access::{
    AccessStore, AccessToken, BrowserSession, Credentials, MAX_SESSIONS, MAX_TOKEN_NAME_BYTES,
    MAX_TOKENS, NewAccessToken, Scope,
};
pub use account_limit::{AccountLimit, MAX_ACCOUNT_LIMIT, MAX_LIMIT_REASON_BYTES, NewAccountLimit};
pub use agent_settings::AgentSettings;
pub use approval::{Approval, ApprovalDecision, NewApproval};
pub use attempt::{
    AgentSession, Attempt, AttemptStatus, Claim, Claimed, EarlierChange, LeaseStatus,
    MAX_CORRECTIONS, Outcome, Release,
};
pub use audit::{
    AuditEntry, AuditFilter, MAX_AUDIT_ENTRIES, MAX_AUDIT_PAGE, MAX_AUDIT_TEXT_BYTES, NewAuditEntry,
};
pub use base::{
    BaseChange, BaseConflict, BasePart, BaseRequest, ConflictingFile, DependencyChange,
};
pub use best_of::{BestOf, MAX_CANDIDATES};
pub use blocker::{Answer, Blocker};
pub use broadcast::{Broadcast, EventFilter, LoggedEvent};
pub use cases::{CaseChanges, CaseResults, CaseStatus};
pub use context::{ContextSource, RelatedFile, RelatedSymbol, TaskContext};
pub use diff_lines::{DiffLines, PlacedLine, placed_lines, unquote_git_path};
pub use id::{
    ApprovalId, AttemptNumber, AttemptRef, AuditId, BlockerId, CorrectionId, InvalidId, IssueId,
    LandingId, LandingToken, MessageId, ModelCallId, NotificationId, ProjectId, PushId, ReviewId,
    ScheduleId, TaskId, TestResultId, TokenId, WorkerId,
};
pub use landing::{
    ClaimedLandings, Landed, Landing, LandingClaim, LandingFilter, LandingOutcome, LandingState,
    MAX_RETURNS, NewLanding,
};
pub use landing_site::{
    AdvanceResult, LandingCopy, LandingSite, LandingStrategy, MergeRequest, MergeResult,
};
pub use message::{AgentMessage, MAX_MESSAGE_BYTES, MAX_WAITING_MESSAGES};
pub use model_call::{
    CallAdmission, CallLabels, CallStatus, CallTokens, ModelCallEnd, NewModelCall, SpendLimit,
    SpendScope, UsageKey, UsageQuery, UsageTotal,
};
pub use note::{TestNote, TestNoteKind};
pub use notification::{
    Channel, FollowStep, NewNotification, Notification, NotificationClaim, NotificationEnd,
    NotificationState,
};
pub use project::{Issue, NewIssue, NewProject, Project, ProjectCheckout, ProjectIdentity};
pub use proof::{Proof, ProvedPart, TestSummary, Warning, WarningKind};
pub use push::{NewPush, Push, PushClaim, PushEnd, PushRef, PushState};
pub use record::{Correction, TestCase, TestCounts, TestResult, TestStatus};
pub use review::{
    AuthorKind, DiffSide, MAX_AGENT_REQUESTS, MAX_REVIEW_AUTHOR_BYTES, MAX_REVIEW_COMMENTS,
    MAX_REVIEW_QUOTE_BYTES, MAX_REVIEW_TEXT_BYTES, MAX_REVIEWS, NewReview, Review, ReviewComment,
    ReviewDecision,
};
pub use schedule::{DueRun, MAX_SCHEDULES, NewSchedule, Schedule};
pub use steering::{MAX_NOTE_BYTES, MAX_PAUSE_REASON_BYTES, TaskEdit, WorkerPause};
pub use store::{
    AccountLimits, Approvals, AttemptRecords, Blockers, EventLog, Landings, Leases, ModelCalls,
    Notifications, Projects, Pushes, Reviews, Schedules, Stacks, Steering, StoreError, StoreFuture,
    StoreResult, TakeOver, TaskQueue, TaskStore, Traces, Workers,
};
pub use task::{
    ATTEMPT_LIMIT, Dependency, Enqueued, MAX_ATTEMPTS, NewTask, Task, TaskFilter, TaskStatus,
    WorkerKind,
};
pub use totals::{HistogramCounts, LATENCY_BOUNDS_MS, LatencyHistogram, StoreTotals};
pub use usage_row::{ReportedTokens, UsageRow};
pub use verifier::{
    BaseTests, Baseline, Check, CheckRequest, Obstacle, SubProject, TestPlan, TestRun, TestedPart,
    Verifier,
};
pub use waiting::{has_agent, waiting_reason};
pub use worker::{
    MAX_LABEL_BYTES, MAX_LABELS, NewWorker, RegisteredWorker, WorkerRenewal, WorkerState,
    check_label, sorted_labels,
};
pub use workspace::{
    Change, Commit, FileAction, FileChange, Opened, StaleCopy, StartPoint, WorkingCopy, Workspace,
};
