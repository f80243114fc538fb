//! The failure of a structured call.

use windlass_core::ErrorCode;
use windlass_core::structured::{self, StructuredErrorKind};

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
