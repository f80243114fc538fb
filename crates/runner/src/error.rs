//! Errors of tasks that were not started.

use windlass_core::ErrorCode;
use windlass_tasks::{StoreError, TaskId};

/// A rejected task: nothing was started, and no status has changed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A field of the task is invalid.
    #[error("task {task} is malformed: {problem}")]
    Malformed {
        /// The task.
        task: TaskId,
        /// The validation error.
        problem: String,
    },
    /// The task cannot be claimed in its current state.
    #[error("task {task} cannot be claimed: {why}")]
    NotClaimable {
        /// The task.
        task: TaskId,
        /// The reason.
        why: String,
    },
    /// An agent failed or gave an invalid answer.
    #[error(transparent)]
    Agent(#[from] windlass_core::Error),
    /// An agent's plan is invalid.
    #[error(transparent)]
    Plan(#[from] crate::PlanError),
    /// The store does not have the task or its project, or cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Error {
    /// Returns the stable error code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Agent(error) => error.code(),
            Self::Plan(error) => error.code(),
            Self::Store(StoreError::Timeout { .. }) => ErrorCode::Timeout,
            _ => ErrorCode::BackendError,
        }
    }
}
