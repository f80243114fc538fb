//! Why a task was not worked on at all.

use windlass_core::ErrorCode;
use windlass_core::task::{StoreError, TaskId};

/// A refusal: nothing was begun, and no status has changed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The task's own fields do not fit.
    #[error("task {task} is malformed: {problem}")]
    Malformed {
        /// The task.
        task: TaskId,
        /// What does not fit.
        problem: String,
    },
    /// The task cannot be taken as things stand.
    #[error("task {task} cannot be taken: {why}")]
    NotClaimable {
        /// The task.
        task: TaskId,
        /// What stands in the way.
        why: String,
    },
    /// An agent did not answer, or not as it was asked to.
    #[error(transparent)]
    Agent(#[from] windlass_core::Error),
    /// An agent's plan is none.
    #[error(transparent)]
    Plan(#[from] crate::PlanError),
    /// The store does not know the task or its project, or cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Error {
    /// The stable name of this failure.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Agent(error) => error.code(),
            Self::Plan(error) => error.code(),
            Self::Store(StoreError::Timeout { .. }) => ErrorCode::Timeout,
            _ => ErrorCode::BackendError,
        }
    }
}
