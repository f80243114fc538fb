//! A structured call: how it is made, and how it fails.

use windlass_core::structured::{self, StructuredErrorKind};
use windlass_core::{AgentHandle, ErrorCode, SchemaSetting, StructuredAgentTask};

use super::AttemptError;

/// A failed structured call, with the agent's last answer.
#[derive(Debug)]
pub(crate) struct StructuredCallError {
    pub(crate) error: structured::Error,
    pub(crate) answer: String,
}

impl StructuredCallError {
    /// Returns `true` if the agent answered, but its answer is not the requested JSON.
    pub(super) fn is_unusable(&self) -> bool {
        match &*self.error.kind {
            StructuredErrorKind::Agent(error) => error.code() == ErrorCode::OutputLimit,
            _ => true,
        }
    }
}

impl From<StructuredCallError> for AttemptError {
    fn from(failed: StructuredCallError) -> Self {
        match *failed.error.kind {
            StructuredErrorKind::Agent(error) if error.code() == ErrorCode::Timeout => {
                Self::TimedOut
            }
            StructuredErrorKind::Agent(error) => error.into(),
            _ => Self::Failed {
                error: failed.error.to_string(),
                again: true,
            },
        }
    }
}

/// Creates a structured call with this schema, in the mode that suits the agent.
pub(crate) fn call(
    agent: &AgentHandle,
    name: &str,
    prompt: String,
    schema: serde_json::Value,
) -> StructuredAgentTask {
    StructuredAgentTask {
        name: name.to_owned(),
        prompt,
        schema: Some(schema),
        schema_mode: agent.schema_mode(SchemaSetting::Auto),
    }
}
