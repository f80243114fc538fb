//! Errors of one-shot invocations.

use windlass_core::{AgentInvocation, ErrorCode};

/// A failed invocation: the command did not start, or it exited with an error.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("{task}: {problem}")]
#[non_exhaustive]
pub struct InvocationError {
    /// The name of the task.
    pub task: String,
    /// The error message.
    pub problem: String,
    /// The kind of error.
    pub code: ErrorCode,
    /// The command's output, if it ran.
    pub invocation: Option<AgentInvocation>,
}

/// A plan could not be created.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("planning failed: {0}")]
pub struct PlanningError(#[from] pub InvocationError);

/// The code could not be written.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("coding failed: {0}")]
pub struct CodingError(#[from] pub InvocationError);
