//! What this crate needs from the program around it: agents by name, and the task loop.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use windlass_core::permission::SessionApprover;
use windlass_core::{AgentHandle, Result};
use windlass_tasks::{Broadcast, TaskId};

/// Opens directories.
pub trait AcpHost: Send + Sync {
    /// Reads the configuration of a directory, and returns what can run there.
    fn open_dir<'a>(&'a self, cwd: &'a Path) -> BoxFuture<'a, Result<Arc<dyn HostDir>>>;
}

/// What can run in a directory.
pub trait HostDir: Send + Sync {
    /// Returns the name of the agent to use if the client selects none.
    fn default_agent(&self) -> Result<String>;

    /// Returns the names of the agents to choose from.
    fn agents(&self) -> Vec<String>;

    /// Creates the agent of this name.
    fn open_agent(&self, name: &str) -> Result<OpenAgent>;

    /// Returns the root of the repository that tasks change, or an error that says why no task can run here.
    fn task_root(&self) -> Result<PathBuf>;

    /// Makes a task of a prompt and runs it to its end: plan, work, proof.
    fn run_task(&self, request: TaskRequest) -> BoxFuture<'_, Result<TaskReport>>;
}

/// An agent, and the model that was requested with its name.
#[derive(Debug)]
pub struct OpenAgent {
    /// The agent.
    pub handle: AgentHandle,
    /// The model, in the agent's own notation.
    pub model: Option<String>,
}

/// A task to run.
#[derive(Debug)]
pub struct TaskRequest {
    /// What to do, or the answer to the question of a blocked task.
    pub text: String,
    /// The name of the agent that makes the change.
    pub agent: String,
    /// A blocked task that the text answers.
    pub answers: Option<TaskId>,
    /// Receives the progress.
    pub events: mpsc::Sender<TaskEvent>,
    /// Answers permission requests.
    pub approver: SessionApprover,
    /// Cancels the task.
    pub cancel: CancellationToken,
    /// Releases the task, so that another worker can run it.
    pub stop: CancellationToken,
}

/// The progress of a task.
#[derive(Debug)]
#[non_exhaustive]
pub enum TaskEvent {
    /// The planner works.
    Planning,
    /// The planner's steps.
    Planned(Vec<String>),
    /// The task is in the store. The files of an attempt are at `ATTEMPT/NAME/…` in `clones`.
    Added {
        /// The task.
        task: TaskId,
        /// The directory that contains the clones.
        clones: PathBuf,
    },
    /// A message of the runner.
    Broadcast(Box<Broadcast>),
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskReport {
    /// The task.
    pub task: TaskId,
    /// Whether the tests passed and a proof is stored.
    pub is_completed: bool,
    /// Whether the task waits for an answer, which the next prompt gives.
    pub is_blocked: bool,
    /// Whether the task was cancelled or released.
    pub is_stopped: bool,
    /// The proof and the branch, the question or the error, as Markdown.
    pub text: String,
}
