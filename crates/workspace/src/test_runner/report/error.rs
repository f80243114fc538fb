//! Why a report cannot be read.

use crate::paths::PathError;

/// The reason why a report that exists cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReportError {
    #[error("the report cannot be parsed: {0}")]
    Malformed(String),
    #[error("the report cannot be opened: {0}")]
    Unreadable(String),
    #[error("the report is larger than {} MiB", super::MAX_REPORT_BYTES >> 20)]
    TooLarge,
}

impl From<PathError> for ReportError {
    fn from(error: PathError) -> Self {
        match error {
            PathError::TooLarge { .. } => Self::TooLarge,
            error => Self::Unreadable(error.to_string()),
        }
    }
}

impl ReportError {
    /// Creates an error for a report with wrong content.
    pub(crate) fn malformed(problem: impl std::fmt::Display) -> Self {
        // The message of a parser may quote the content, which may be long.
        Self::Malformed(problem.to_string().chars().take(200).collect())
    }
}
