//! Tasks.

use serde::{Deserialize, Serialize};
use windlass_core::{Timestamp, Usage};

use crate::agent_settings::AgentSettings;
use crate::best_of::BestOf;
use crate::id::{AttemptNumber, IssueId, ProjectId, TaskId};
use crate::landing::Landed;
use crate::review::ReviewDecision;

/// The default number of attempts before a task fails.
pub const MAX_ATTEMPTS: u32 = 3;
/// The largest number of attempts that a task can have.
pub const ATTEMPT_LIMIT: u32 = 100;

/// The status of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Waiting for a worker.
    #[default]
    Pending,
    /// A worker holds its lease.
    InProgress,
    /// Done, with proof or explicitly without.
    Completed,
    /// Failed, with no attempt left.
    Failed,
    /// Waiting for a person's answer, or for a task that failed.
    Blocked,
    /// Cancelled on request.
    Cancelled,
}

impl TaskStatus {
    /// All values, in the order of a task's lifecycle.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::InProgress,
        Self::Completed,
        Self::Failed,
        Self::Blocked,
        Self::Cancelled,
    ];

    /// Returns the name used in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the status with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Returns `true` if the status changes only on request.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

impl std::fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The kind of worker for a task. Each kind has its own instructions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WorkerKind {
    /// Servers, libraries, command-line programs.
    #[default]
    Backend,
    /// User interfaces.
    Frontend,
    /// Tests for existing code.
    Test,
}

impl WorkerKind {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Backend, Self::Frontend, Self::Test];

    /// Returns the name used in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Backend => "backend",
            Self::Frontend => "frontend",
            Self::Test => "test",
        }
    }

    /// Returns the kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Returns the `agent_id` of a worker of this kind in broadcasts.
    pub fn agent_id(self) -> &'static str {
        match self {
            Self::Backend => "backend-worker",
            Self::Frontend => "frontend-worker",
            Self::Test => "test-worker",
        }
    }
}

/// A durable unit of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The id.
    pub id: TaskId,
    /// The project of the task.
    pub project_id: ProjectId,
    /// The parent issue.
    pub issue_id: Option<IssueId>,
    /// The title.
    pub title: String,
    /// The full description.
    pub description: String,
    /// The status.
    pub status: TaskStatus,
    /// The priority, from 0 (first) to 4 (last).
    pub priority: u8,
    /// The workflow step, from 1 (first) to 15 (last), among tasks of the same priority.
    pub workflow_step: u8,
    /// The tasks that must be completed first.
    pub dependencies: Vec<TaskId>,
    /// The kind of worker.
    pub kind: WorkerKind,
    /// The agent to use. `None` selects the configured agent.
    pub agent: Option<String>,
    /// Settings of the agent for this task alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_settings: Option<AgentSettings>,
    /// The labels that a worker must have to claim the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Why no registered worker can take the task. It is not stored: a store finds it out when the task is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
    /// Makes adding the task safe to repeat.
    pub idempotency_key: Option<String>,
    /// The number of attempts so far. While one is running, this is its number.
    pub attempt: AttemptNumber,
    /// The maximum number of attempts.
    pub max_attempts: u32,
    /// The reason for the status: the result, the error, or what the task waits for.
    pub output: Option<String>,
    /// Whether the task was completed without proof because the project has no tests.
    pub unverified: bool,
    /// Completed with warnings in its proof, and not yet accepted by a person.
    #[serde(default)]
    pub needs_review: bool,
    /// The decision of the last review of the current version. After `request_changes` it stays until an attempt
    /// completes the task.
    #[serde(default)]
    pub review: Option<ReviewDecision>,
    /// The tests that the task is about: each of them must pass.
    #[serde(default)]
    pub tests: Vec<String>,
    /// The task is about the tests themselves: it is not tested with the tests of the base.
    #[serde(default)]
    pub edits_tests: bool,
    /// The next attempt starts from the base, not from an earlier attempt's change.
    #[serde(default)]
    pub fresh: bool,
    /// No worker claims the task until a person resumes it.
    #[serde(default)]
    pub paused: bool,
    /// Several candidates work on the task, and the best one is chosen. `None` once it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_of: Option<BestOf>,
    /// The task is a candidate of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate_of: Option<TaskId>,
    /// The task lands on its target branch when it is proved.
    #[serde(default)]
    pub land: bool,
    /// The commit with which the change landed on its target branch.
    #[serde(default)]
    pub landed: Option<Landed>,
    /// The branch that the work is for. `None` selects the one that is checked out when an attempt starts.
    #[serde(default)]
    pub target: Option<String>,
    /// It was completed, and then a change in its base was replaced. A worker brings it up to date.
    #[serde(default)]
    pub outdated: bool,
    /// The task merges the changes of its dependencies: it starts with their conflicts in the files.
    #[serde(default)]
    pub merges: bool,
    /// The branch that contains the change.
    pub branch: Option<String>,
    /// The usage of all attempts.
    pub usage: Usage,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When the task was completed; `None` otherwise.
    pub completed_at: Option<Timestamp>,
}

/// A task to add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTask {
    /// The project of the task.
    pub project_id: ProjectId,
    /// The parent issue.
    pub issue_id: Option<IssueId>,
    /// The title.
    pub title: String,
    /// The full description.
    pub description: String,
    /// The priority, from 0 (first) to 4 (last).
    pub priority: u8,
    /// The workflow step, from 1 (first) to 15 (last).
    pub workflow_step: u8,
    /// The tasks that must be completed first.
    pub dependencies: Vec<Dependency>,
    /// The kind of worker.
    pub kind: WorkerKind,
    /// The agent to use.
    pub agent: Option<String>,
    /// Settings of the agent for this task alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_settings: Option<AgentSettings>,
    /// The labels that a worker must have to claim the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Makes adding the task safe to repeat.
    pub idempotency_key: Option<String>,
    /// The maximum number of attempts.
    pub max_attempts: u32,
    /// The tests that the task is about: each of them must pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// The task is about the tests themselves: it is not tested with the tests of the base.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edits_tests: bool,
    /// Adds candidates, of which the best one is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_of: Option<BestOf>,
    /// The task lands on its target branch when it is proved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub land: bool,
    /// The branch that the work is for. `None` selects the one that is checked out when an attempt starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The task merges the changes of its dependencies: it starts with their conflicts in the files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merges: bool,
}

impl NewTask {
    /// Creates a task of medium priority without dependencies.
    pub fn new(project_id: ProjectId, title: impl Into<String>) -> Self {
        Self {
            project_id,
            issue_id: None,
            title: title.into(),
            description: String::new(),
            priority: 2,
            workflow_step: 1,
            dependencies: Vec::new(),
            kind: WorkerKind::default(),
            agent: None,
            agent_settings: None,
            needs: Vec::new(),
            idempotency_key: None,
            max_attempts: MAX_ATTEMPTS,
            tests: Vec::new(),
            edits_tests: false,
            best_of: None,
            land: false,
            target: None,
            merges: false,
        }
    }
}

/// A task that another one depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dependency {
    /// A task in the store.
    Task(TaskId),
    /// A task in the same batch, by its index from zero.
    Sibling(usize),
}

/// The result of adding a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Enqueued {
    /// The stored task.
    pub task: Task,
    /// `false` if the task already existed under the same idempotency key.
    pub fresh: bool,
}

/// A filter for tasks. An empty filter selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Only tasks of this project.
    pub project_id: Option<ProjectId>,
    /// Only tasks of this issue.
    pub issue_id: Option<IssueId>,
    /// Only candidates of this task.
    pub candidate_of: Option<TaskId>,
    /// Only tasks with this status.
    pub status: Option<TaskStatus>,
    /// Only tasks after this id.
    pub after: Option<TaskId>,
    /// The maximum number of tasks; zero selects the store's limit.
    pub limit: u32,
}
