//! What somebody wants done: projects, parent issues and tasks.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{AttemptNumber, IssueId, ProjectId, TaskId};
use crate::{Timestamp, Usage};

/// How far a task is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Waiting for a worker.
    #[default]
    Pending,
    /// A worker holds its lease.
    InProgress,
    /// Done, with proof or expressly without.
    Completed,
    /// Given up.
    Failed,
    /// Waiting for a person's answer, or for a task that failed.
    Blocked,
    /// Stopped by somebody.
    Cancelled,
}

impl TaskStatus {
    /// Every status, in the order of a task's life.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::InProgress,
        Self::Completed,
        Self::Failed,
        Self::Blocked,
        Self::Cancelled,
    ];

    /// The name as it appears in JSON and in the store.
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

    /// The status of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Whether nothing more will happen unless somebody asks for it.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

impl std::fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which kind of worker a task is for; each has instructions of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WorkerKind {
    /// Servers, libraries, command lines.
    #[default]
    Backend,
    /// What people look at.
    Frontend,
    /// Tests for what is there.
    Test,
}

impl WorkerKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Backend, Self::Frontend, Self::Test];

    /// The name as it appears in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Backend => "backend",
            Self::Frontend => "frontend",
            Self::Test => "test",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// How a worker of this kind calls itself in broadcasts.
    pub fn agent_id(self) -> &'static str {
        match self {
            Self::Backend => "backend-worker",
            Self::Frontend => "frontend-worker",
            Self::Test => "test-worker",
        }
    }
}

/// A repository that tasks belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Its number.
    pub id: ProjectId,
    /// How people call it.
    pub name: String,
    /// The work tree's root, as an absolute path.
    pub root: PathBuf,
    /// When it was first seen.
    pub created_at: Timestamp,
}

/// A repository to be known. The same root again is the same project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProject {
    /// How people call it.
    pub name: String,
    /// The work tree's root, as an absolute path.
    pub root: PathBuf,
}

/// What several tasks are part of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// Its number.
    pub id: IssueId,
    /// The project it belongs to.
    pub project_id: ProjectId,
    /// In a few words.
    pub title: String,
    /// In full.
    pub description: String,
    /// When it was added.
    pub created_at: Timestamp,
}

/// An issue to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIssue {
    /// The project it belongs to.
    pub project_id: ProjectId,
    /// In a few words.
    pub title: String,
    /// In full.
    pub description: String,
}

/// A durable wish.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its number.
    pub id: TaskId,
    /// The project it belongs to.
    pub project_id: ProjectId,
    /// The issue it is part of.
    pub issue_id: Option<IssueId>,
    /// In a few words.
    pub title: String,
    /// In full.
    pub description: String,
    /// How far it is.
    pub status: TaskStatus,
    /// 0 comes first, 4 last.
    pub priority: u8,
    /// 1 comes first, 15 last, among equals in priority.
    pub workflow_step: u8,
    /// The tasks that must be completed before.
    pub dependencies: Vec<TaskId>,
    /// The kind of worker.
    pub kind: WorkerKind,
    /// The agent to use. `None`: the configured one.
    pub agent: Option<String>,
    /// Makes adding it twice the same as adding it once.
    pub idempotency_key: Option<String>,
    /// The attempts made so far; the number of the one under way.
    pub attempt: AttemptNumber,
    /// The attempts it is given.
    pub max_attempts: u32,
    /// Why it is where it is: the explanation, the error, or what it waits for.
    pub output: Option<String>,
    /// Whether it was completed without proof, because the project has no tests.
    pub unverified: bool,
    /// The branch that holds its change.
    pub branch: Option<String>,
    /// What its attempts consumed.
    pub usage: Usage,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was completed; only then.
    pub completed_at: Option<Timestamp>,
}

/// A task to be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTask {
    /// The project it belongs to.
    pub project_id: ProjectId,
    /// The issue it is part of.
    pub issue_id: Option<IssueId>,
    /// In a few words.
    pub title: String,
    /// In full.
    pub description: String,
    /// 0 comes first, 4 last.
    pub priority: u8,
    /// 1 comes first, 15 last.
    pub workflow_step: u8,
    /// What must be completed before.
    pub dependencies: Vec<Dependency>,
    /// The kind of worker.
    pub kind: WorkerKind,
    /// The agent to use.
    pub agent: Option<String>,
    /// Makes adding it twice the same as adding it once.
    pub idempotency_key: Option<String>,
    /// The attempts it is given.
    pub max_attempts: u32,
}

impl NewTask {
    /// A task of middle priority that depends on nothing.
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
            idempotency_key: None,
            max_attempts: super::MAX_ATTEMPTS,
        }
    }
}

/// A task that another one waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dependency {
    /// One that is in the store.
    Task(TaskId),
    /// One that is added with it, by its place in the same batch, counted from zero.
    Sibling(usize),
}

/// What became of a task that was to be added.
#[derive(Debug, Clone, PartialEq)]
pub struct Enqueued {
    /// The task as it stands in the store.
    pub task: Task,
    /// `false`: it was there already, under the same idempotency key.
    pub fresh: bool,
}

/// Which tasks to list. An empty filter lists all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Only those of this project.
    pub project_id: Option<ProjectId>,
    /// Only those of this issue.
    pub issue_id: Option<IssueId>,
    /// Only those of this status.
    pub status: Option<TaskStatus>,
    /// Only those after this one.
    pub after: Option<TaskId>,
    /// At most so many; zero means the store's own limit.
    pub limit: u32,
}
