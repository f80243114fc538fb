//! Operations that the server delegates to the program around it: git and agents.

use std::fmt;

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use windlass_tasks::Task;

/// Operations that need a repository or the machine.
pub trait HostOps: fmt::Debug + Send + Sync {
    /// Returns the change of a task, as git prints it.
    fn diff<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Result<String, HostOpsError>>;
    /// Merges a task's branch into the current branch, and returns the result.
    fn merge<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Result<Value, HostOpsError>>;
    /// Returns the agents with their capabilities and health.
    fn agents(&self) -> BoxFuture<'_, Result<Vec<AgentCard>, HostOpsError>>;
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
