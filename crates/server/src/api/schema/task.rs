//! Errors, usage, projects and tasks.

use serde_json::Value;
use utoipa::ToSchema;

use crate::board::{DecisionName, KindName};

/// An error. The server log has further details under the same id.
#[derive(ToSchema)]
pub(crate) struct Error {
    error: ErrorBody,
}

#[derive(ToSchema)]
pub(crate) struct ErrorBody {
    code: String,
    message: String,
    id: String,
}

#[derive(ToSchema)]
pub(crate) struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    #[schema(nullable = false)]
    cache_read_tokens: Option<u64>,
    #[schema(nullable = false)]
    cache_write_tokens: Option<u64>,
    #[schema(nullable = false)]
    cost_usd: Option<f64>,
    #[schema(nullable = false, value_type = Option<AnyValue>)]
    extra: Option<Value>,
}

/// Any JSON value.
#[derive(ToSchema)]
#[schema(value_type = Value)]
pub(crate) struct AnyValue(Value);

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum Scope {
    Read,
    Work,
    Approve,
    Admin,
    Models,
}

#[derive(ToSchema)]
pub(crate) struct Project {
    id: i64,
    name: String,
    /// The checkout on the server's machine, or its mirror of the remote.
    root: String,
    /// Whether the server's machine has a checkout.
    here: bool,
    /// The oldest root commit of its history.
    root_commit: Option<String>,
    /// The address of the repository through which machines exchange commits.
    remote: Option<String>,
    /// Milliseconds since the Unix epoch.
    created_at: u64,
}

/// A message of a person to the agent of a task.
#[derive(ToSchema)]
pub(crate) struct AgentMessage {
    id: i64,
    task_id: i64,
    author: String,
    text: String,
    /// Milliseconds since the Unix epoch.
    created_at: u64,
    /// The attempt that received it; `null` while it waits.
    #[schema(required)]
    attempt: Option<u32>,
}

/// A task that is added repeatedly.
#[derive(ToSchema)]
pub(crate) struct Schedule {
    id: i64,
    project_id: i64,
    cron: String,
    /// The time zone of the cron expression.
    zone: String,
    /// The task to add.
    #[schema(value_type = AnyValue)]
    task: Value,
    paused: bool,
    /// Milliseconds since the Unix epoch.
    next_at: u64,
    #[schema(required)]
    last_at: Option<u64>,
    #[schema(required)]
    last_task: Option<i64>,
    /// Milliseconds since the Unix epoch.
    created_at: u64,
}

/// A pause of workers.
#[derive(ToSchema)]
pub(crate) struct WorkerPause {
    /// `null` for all projects.
    #[schema(required)]
    project_id: Option<i64>,
    reason: String,
    /// Milliseconds since the Unix epoch.
    since: u64,
}

/// A worker process that uses the store.
#[derive(ToSchema)]
pub(crate) struct RegisteredWorker {
    id: i64,
    /// Its machine and process; its attempts have this name too.
    name: String,
    machine: String,
    /// The version of the program.
    version: String,
    state: WorkerState,
    labels: Vec<String>,
    /// The kinds of its tasks; empty for all.
    kinds: Vec<KindName>,
    /// The agents that it can use.
    agents: Vec<String>,
    /// The project of its tasks; `null` for all.
    #[schema(required)]
    project_id: Option<i64>,
    /// How many tasks it runs at the same time.
    lanes: u32,
    /// How many tasks it runs now.
    running: u32,
    /// Milliseconds since the Unix epoch.
    started_at: u64,
    /// Milliseconds since the Unix epoch.
    seen_at: u64,
    seen_seconds_ago: u64,
}

/// `lost`: it has not renewed its entry for three intervals.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum WorkerState {
    Active,
    Draining,
    Lost,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum TaskStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
    Blocked,
    Cancelled,
}

#[derive(ToSchema)]
pub(crate) struct Task {
    id: i64,
    project_id: i64,
    #[schema(required)]
    issue_id: Option<i64>,
    title: String,
    description: String,
    status: TaskStatus,
    #[schema(maximum = 4)]
    priority: u8,
    #[schema(minimum = 1, maximum = 15)]
    workflow_step: u8,
    dependencies: Vec<i64>,
    kind: KindName,
    #[schema(required)]
    agent: Option<String>,
    /// Settings of the agent for this task alone.
    #[schema(nullable = false)]
    agent_settings: Option<AgentSettings>,
    /// The labels that a worker must have to claim the task; absent if it needs none.
    #[schema(nullable = false)]
    needs: Option<Vec<String>>,
    /// Why no registered worker can take the task.
    #[schema(nullable = false)]
    waiting: Option<String>,
    #[schema(required)]
    idempotency_key: Option<String>,
    attempt: u32,
    max_attempts: u32,
    #[schema(required)]
    output: Option<String>,
    unverified: bool,
    needs_review: bool,
    /// The decision of the last review of the current version.
    #[schema(required)]
    review: Option<DecisionName>,
    tests: Vec<String>,
    edits_tests: bool,
    fresh: bool,
    paused: bool,
    #[schema(nullable = false)]
    best_of: Option<BestOf>,
    /// The task that this one is a candidate of.
    #[schema(nullable = false)]
    candidate_of: Option<i64>,
    /// It lands on its target branch when it is proved.
    land: bool,
    #[schema(required)]
    landed: Option<Landed>,
    /// The branch that the work is for.
    #[schema(required)]
    target: Option<String>,
    /// A change in its base was replaced after it was completed.
    outdated: bool,
    /// The task merges the changes of its dependencies.
    merges: bool,
    #[schema(required)]
    branch: Option<String>,
    usage: Usage,
    /// Milliseconds since the Unix epoch.
    created_at: u64,
    /// Milliseconds since the Unix epoch.
    updated_at: u64,
    #[schema(required)]
    completed_at: Option<u64>,
}

/// Settings of an agent for one task.
#[derive(ToSchema)]
pub(crate) struct AgentSettings {
    #[schema(nullable = false)]
    endpoint: Option<String>,
    #[schema(nullable = false)]
    model: Option<String>,
    #[schema(nullable = false)]
    max_steps: Option<u32>,
    #[schema(nullable = false)]
    request_timeout_secs: Option<u64>,
}

/// How the best candidate is chosen.
#[derive(ToSchema)]
pub(crate) struct BestOf {
    agents: Vec<Option<String>>,
    #[schema(nullable = false)]
    first: Option<bool>,
    #[schema(nullable = false)]
    judge: Option<String>,
    #[schema(nullable = false)]
    rubric: Option<String>,
}

/// How the change of a task got onto its target branch.
#[derive(ToSchema)]
pub(crate) struct Landed {
    commit: String,
    /// Milliseconds since the Unix epoch.
    at: u64,
    by: String,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum LandingState {
    Queued,
    Landing,
    Landed,
    Returned,
}

#[derive(ToSchema)]
pub(crate) struct Landing {
    id: i64,
    project_id: i64,
    task: i64,
    attempt: u32,
    target: String,
    by: String,
    state: LandingState,
    #[schema(nullable = false)]
    worker: Option<String>,
    #[schema(nullable = false)]
    intents: Option<Vec<String>>,
    /// Dependencies that must land first.
    #[schema(nullable = false)]
    waits_for: Option<Vec<i64>>,
    #[schema(nullable = false)]
    commit: Option<String>,
    /// Why it was returned, or why it waits.
    #[schema(nullable = false)]
    reason: Option<String>,
    /// The test cases that failed.
    #[schema(nullable = false)]
    cases: Option<Vec<String>>,
    /// Milliseconds since the Unix epoch.
    created_at: u64,
    #[schema(nullable = false)]
    ended_at: Option<u64>,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum MergeStatus {
    Merged,
    Nothing,
}

#[derive(ToSchema)]
pub(crate) struct Merge {
    status: MergeStatus,
    #[schema(nullable = false)]
    into: Option<String>,
    #[schema(nullable = false)]
    before: Option<String>,
    #[schema(nullable = false)]
    after: Option<String>,
    #[schema(nullable = false)]
    fast_forward: Option<bool>,
    #[schema(nullable = false)]
    files: Option<Vec<String>>,
    #[schema(nullable = false)]
    undo: Option<String>,
}

/// The usage of several tasks.
#[derive(ToSchema)]
pub(crate) struct Sum {
    tasks: u64,
    input_tokens: u64,
    output_tokens: u64,
    #[schema(nullable = false)]
    cache_read_tokens: Option<u64>,
    #[schema(nullable = false)]
    cache_write_tokens: Option<u64>,
    #[schema(nullable = false)]
    cost_usd: Option<f64>,
}
