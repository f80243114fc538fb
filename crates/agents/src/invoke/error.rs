//! Why a plain call gave nothing to go on with.

use windlass_core::{AgentInvocation, ErrorCode};

/// A call that failed: before the command ran, or by how it ended.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("{task}: {problem}")]
pub struct InvocationError {
    /// What the call was for.
    pub task: String,
    /// What went wrong.
    pub problem: String,
    /// The kind of fault.
    pub code: ErrorCode,
    /// What the command said, if it ran.
    pub invocation: Option<AgentInvocation>,
}

/// A plan could not be had.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("planning failed: {0}")]
pub struct PlanningError(#[from] pub InvocationError);

/// The code could not be written.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("coding failed: {0}")]
pub struct CodingError(#[from] pub InvocationError);
