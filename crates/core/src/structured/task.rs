//! The input of a structured call, the record of a program run, and the trait of what runs one.

use std::path::Path;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use super::SchemaMode;

/// A structured call, independent of the backend.
#[derive(Debug, Clone, PartialEq)]
pub struct StructuredAgentTask {
    /// The purpose of the call, for logs and messages.
    pub name: String,
    /// The complete prompt for the agent.
    pub prompt: String,
    /// The JSON schema of the answer. `None` accepts any JSON.
    pub schema: Option<Value>,
    /// How the schema is passed to the agent.
    pub schema_mode: SchemaMode,
}

/// One run of an agent's program, unparsed.
///
/// It is also recorded for a program that exits successfully without output. The caller decides whether
/// empty output is acceptable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentInvocation {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    /// How long it ran.
    pub duration: Duration,
}

/// An error of an [`InvocationBackend`]. Each backend chooses its own type.
pub type InvocationFailure = Box<dyn std::error::Error + Send + Sync>;

/// A backend that runs a task as one program run and returns the output unparsed.
///
/// Unlike an [`AgentBackend`](crate::AgentBackend), it has neither sessions nor events. A registry finds it by reference:
/// [`load_invocation_backend`](crate::AgentRegistry::load_invocation_backend).
pub trait InvocationBackend: Send + Sync {
    /// Runs the task in this directory, which the backend validates first.
    fn run<'a>(
        &'a self,
        task: &'a StructuredAgentTask,
        working_dir: &'a Path,
    ) -> BoxFuture<'a, Result<AgentInvocation, InvocationFailure>>;
}
