//! The records of attempts.

use utoipa::ToSchema;

use super::{AnyValue, Usage};

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum AttemptStatus {
    Completed,
    Failed,
    Blocked,
    Cancelled,
    Released,
    Lost,
}

#[derive(ToSchema)]
pub(crate) struct Attempt {
    number: u32,
    worker: String,
    /// Milliseconds since the Unix epoch.
    started_at: u64,
    /// Milliseconds since the Unix epoch.
    #[schema(nullable = false)]
    ended_at: Option<u64>,
    #[schema(nullable = false)]
    outcome: Option<AttemptStatus>,
    #[schema(nullable = false)]
    error: Option<String>,
    /// The commit that keeps the attempt's change.
    #[schema(nullable = false)]
    commit: Option<String>,
    #[schema(nullable = false)]
    session: Option<AgentSession>,
    /// The commit that the attempt started from.
    #[schema(nullable = false)]
    base: Option<String>,
    /// The changes of other tasks in the base. Absent if empty.
    #[schema(required = false)]
    base_parts: Vec<BasePart>,
    usage: Usage,
}

/// The agent's session, which a later attempt can resume.
#[derive(ToSchema)]
pub(crate) struct AgentSession {
    agent: String,
    id: String,
}

/// The change of a dependency that is part of a base.
#[derive(ToSchema)]
pub(crate) struct BasePart {
    task: i64,
    commit: String,
}

#[derive(ToSchema)]
pub(crate) struct TestCounts {
    passed: u64,
    failed: u64,
    errors: u64,
    total: u64,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum TestStatus {
    Passed,
    Failed,
    Error,
    Timeout,
}

#[derive(ToSchema)]
pub(crate) struct TestCase {
    name: String,
    message: String,
}

#[derive(ToSchema)]
pub(crate) struct TestNote {
    /// `unknown-runner`, `no-tests`, `report-mismatch`, `too-many-cases` or `other`.
    kind: String,
    detail: String,
}

#[derive(ToSchema)]
pub(crate) struct TestResult {
    attempt: u32,
    command: Vec<String>,
    status: TestStatus,
    #[schema(required)]
    exit_code: Option<i32>,
    counts: TestCounts,
    failures: Vec<TestCase>,
    /// Absent if empty.
    #[schema(required = false)]
    notes: Vec<TestNote>,
    duration_ms: u64,
    output: String,
    output_sha256: String,
}

#[derive(ToSchema)]
pub(crate) struct Correction {
    attempt: u32,
    round: u32,
    error_analysis: String,
    fix_description: String,
    code_changes: AnyValue,
    status: TestStatus,
}

#[derive(ToSchema)]
pub(crate) struct Proof {
    base: String,
    /// The changes of other tasks in the base. Absent if empty.
    #[schema(required = false)]
    base_parts: Vec<BasePart>,
    commit: String,
    tree: String,
    command: Vec<String>,
    /// The part of a monorepo that was tested. Absent if the repository was tested as a whole.
    #[schema(nullable = false)]
    part: Option<ProvedPart>,
    exit_code: i32,
    counts: TestCounts,
    log_sha256: String,
    duration_ms: u64,
    setup: Vec<String>,
    #[schema(required)]
    cases: Option<CaseChanges>,
    #[schema(required)]
    baseline: Option<TestSummary>,
    #[schema(required)]
    base_tests: Option<TestSummary>,
    warnings: Vec<Warning>,
    /// The number of added and removed lines.
    #[schema(nullable = false)]
    lines: Option<u64>,
    /// Milliseconds since the Unix epoch.
    at: u64,
}

#[derive(ToSchema)]
pub(crate) struct ProvedPart {
    /// The directories of the tested projects.
    projects: Vec<String>,
    /// The command that tests the whole repository.
    whole: Vec<String>,
}

#[derive(ToSchema)]
pub(crate) struct TestSummary {
    command: Vec<String>,
    #[schema(required)]
    exit_code: Option<i32>,
    counts: TestCounts,
    log_sha256: String,
    duration_ms: u64,
    #[schema(required)]
    cases: Option<CaseChanges>,
}

#[derive(ToSchema)]
pub(crate) struct CaseChanges {
    fixed: Vec<String>,
    still_failing: Vec<String>,
    broken: Vec<String>,
    skipped: Vec<String>,
    new: Vec<String>,
    removed: Vec<String>,
    flaky: Vec<String>,
}

#[derive(ToSchema)]
pub(crate) struct Warning {
    /// A name that tools can match, such as `removed-tests`.
    kind: String,
    detail: String,
}

#[derive(ToSchema)]
pub(crate) struct Blocker {
    id: i64,
    project_id: i64,
    task_id: i64,
    attempt: u32,
    question: String,
    /// Milliseconds since the Unix epoch.
    created_at: u64,
    #[schema(required)]
    answer: Option<Answer>,
}

#[derive(ToSchema)]
pub(crate) struct Answer {
    text: String,
    /// Milliseconds since the Unix epoch.
    at: u64,
}

#[derive(ToSchema)]
pub(crate) struct Approval {
    id: i64,
    attempt: AttemptRef,
    agent: String,
    tool: String,
    input: AnyValue,
    options: Vec<PermissionOption>,
    /// When the turn that asks ends at the latest, in milliseconds since the Unix epoch.
    #[schema(nullable = false)]
    deadline: Option<u64>,
    /// Milliseconds since the Unix epoch.
    created_at: u64,
    #[schema(required)]
    decision: Option<ApprovalDecision>,
}

#[derive(ToSchema)]
pub(crate) struct AttemptRef {
    task: i64,
    number: u32,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum PermissionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
}

#[derive(ToSchema)]
pub(crate) struct PermissionOption {
    id: String,
    label: String,
    kind: PermissionKind,
}

#[derive(ToSchema)]
pub(crate) struct ApprovalDecision {
    #[schema(required)]
    option: Option<String>,
    /// Milliseconds since the Unix epoch.
    at: u64,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum PushState {
    Queued,
    Pushing,
    Pushed,
    Failed,
}

#[derive(ToSchema)]
pub(crate) struct Push {
    id: i64,
    task_id: i64,
    remote: String,
    r#ref: String,
    #[schema(required)]
    commit: Option<String>,
    #[schema(nullable = false)]
    sent: Option<Vec<String>>,
    #[schema(required)]
    request: Option<String>,
    state: PushState,
    #[schema(required)]
    error: Option<String>,
    tries: u32,
    #[schema(required)]
    due_at: Option<u64>,
    /// Milliseconds since the Unix epoch.
    at: u64,
}
