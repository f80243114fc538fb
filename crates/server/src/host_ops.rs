//! What the server asks of whoever runs it: git and agents are not its business.

use std::fmt;

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use windlass_core::task::Task;

/// Does for the server what needs a repository or a machine.
pub trait HostOps: fmt::Debug + Send + Sync {
    /// The change that a task made, as git prints it.
    fn diff<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Result<String, HostOpsError>>;
    /// Brings a task's change into what is checked out, and says what that did.
    fn merge<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Result<Value, HostOpsError>>;
    /// The agents with what they can do and how they are.
    fn agents(&self) -> BoxFuture<'_, Result<Vec<AgentCard>, HostOpsError>>;
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostOpsError {
    /// The state of things does not allow it; the reason is for the caller.
    #[error("{0}")]
    Refused(String),
    /// It broke; the reason is for the log.
    #[error("{0}")]
    Internal(String),
}

/// An agent as others see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentCard {
    /// Its name.
    pub name: String,
    /// The backend behind it.
    pub backend: String,
    /// How it is talked to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// Its version, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it can do.
    pub capabilities: Vec<String>,
    /// Whether it works where nobody is named.
    pub default: bool,
    /// Whether the configuration names it.
    pub configured: bool,
    /// `ok` or `problem`.
    pub health: &'static str,
    /// What is wrong, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}
