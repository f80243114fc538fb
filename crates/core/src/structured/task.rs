//! What is asked for, and the record of a program that was run to get it.

use std::time::Duration;

use serde_json::Value;

use super::SchemaMode;

/// A structured call, in words that fit every backend.
#[derive(Debug, Clone, PartialEq)]
pub struct StructuredAgentTask {
    /// What the call is for, in logs and messages.
    pub name: String,
    /// What the agent is told, all of it.
    pub prompt: String,
    /// The JSON schema of the answer. `None`: any JSON will do.
    pub schema: Option<Value>,
    /// How the schema reaches the agent.
    pub schema_mode: SchemaMode,
}

/// One run of an agent's program, as it was: nothing parsed, nothing judged.
///
/// A program that ends well and says nothing also leaves one: whether silence will do is for whoever reads it.
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
