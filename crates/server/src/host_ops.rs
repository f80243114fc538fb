//! Operations that the server delegates to the program around it: git and agents.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use windlass_core::{Timestamp, Usage};
use windlass_tasks::{AttemptNumber, Push, Task};

/// Operations that need a repository or the machine.
pub trait HostOps: fmt::Debug + Send + Sync {
    /// Returns the change of an attempt, as git prints it. Without an attempt, it is the change on the task's branch,
    /// or the last one that is kept.
    fn diff<'a>(
        &'a self,
        task: &'a Task,
        attempt: Option<AttemptNumber>,
    ) -> BoxFuture<'a, Result<String, HostOpsError>>;
    /// Returns the difference between the changes of two attempts, as git prints it.
    fn version_diff<'a>(
        &'a self,
        task: &'a Task,
        from: AttemptNumber,
        to: AttemptNumber,
    ) -> BoxFuture<'a, Result<String, HostOpsError>>;
    /// Merges a task's branch into the current branch, and returns the result. `by` is who requested it.
    fn merge<'a>(
        &'a self,
        task: &'a Task,
        by: &'a str,
    ) -> BoxFuture<'a, Result<Value, HostOpsError>>;
    /// Returns what [`merge`](Self::merge) would do, and changes nothing.
    fn preview_merge<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Result<Value, HostOpsError>>;
    /// Pushes a task's branch to a remote of the repository, and opens its pull request if that is configured. `None`
    /// selects the configured remote. A push that fails is stored with its reason.
    fn push<'a>(
        &'a self,
        task: &'a Task,
        remote: Option<String>,
    ) -> BoxFuture<'a, Result<Push, HostOpsError>>;
    /// Returns the agents with their capabilities and health.
    fn agents(&self) -> BoxFuture<'_, Result<Vec<AgentCard>, HostOpsError>>;
    /// Returns the results of `windlass eval`, the newest first.
    fn evaluations(&self) -> BoxFuture<'_, Result<Vec<Evaluation>, HostOpsError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    /// Sends a prompt to an agent that can read the files in `root`, and change nothing. Dropping the future
    /// stops the agent.
    fn ask<'a>(
        &'a self,
        root: &'a Path,
        ask: AskRequest,
    ) -> BoxFuture<'a, Result<AskAnswer, HostOpsError>>;
}

/// The results of an evaluation of agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Evaluation {
    /// The file with its agents and tasks, or the directory in which it runs.
    pub file: String,
    /// When a result was added last. Milliseconds since the Unix epoch.
    #[schema(value_type = u64)]
    pub updated_at: Timestamp,
    /// The results, as `windlass eval --json` prints them.
    #[schema(value_type = Object)]
    pub report: Value,
}

/// A prompt for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskRequest {
    /// The agent; `None` selects the configured one.
    pub agent: Option<String>,
    /// The prompt.
    pub prompt: String,
    /// How long the agent may take.
    pub timeout: Duration,
}

/// The answer of an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AskAnswer {
    /// The agent's name.
    pub agent: String,
    /// The text of the answer.
    pub answer: String,
    /// Tokens and cost, if the agent reports them.
    pub usage: Option<Usage>,
}

/// Error of a host operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostOpsError {
    /// The current state does not allow it; the message is for the caller.
    #[error("{0}")]
    Refused(String),
    /// It failed; the message is for the log.
    #[error("{0}")]
    Internal(String),
}

/// Whether an agent can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentHealth {
    /// It can be used.
    Ok,
    /// It cannot be used; the agent's detail says why.
    Problem,
}

/// Information about an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct AgentCard {
    /// Its name.
    pub name: String,
    /// Its backend.
    pub backend: String,
    /// Its transport.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub transport: Option<String>,
    /// Its version, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub version: Option<String>,
    /// Its capabilities.
    pub capabilities: Vec<String>,
    /// `true` if it is used for tasks without an agent.
    pub default: bool,
    /// `true` if it is in the configuration.
    pub configured: bool,
    /// Whether it can be used.
    pub health: AgentHealth,
    /// The problem, and how to solve it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub detail: Option<String>,
}
