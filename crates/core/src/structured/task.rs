//! The input of a structured call, and the record of a program run.

use std::time::Duration;

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
