//! Errors of the index. A broken cache is not an error: it is rebuilt.

use std::io;
use std::path::Path;

use windlass_core::ErrorCode;

/// A result with [`Error`] as its error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Error of an index operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory to index cannot be read.
    #[error("{folder}: {problem}: give a directory that can be read")]
    Folder {
        /// The directory.
        folder: String,
        /// The reason.
        problem: String,
    },
    /// A thread of the indexer panicked or was cancelled.
    #[error("the indexer stopped: {0}")]
    Stopped(String),
}

impl Error {
    pub(crate) fn folder(folder: &Path, error: &io::Error) -> Self {
        Self::Folder {
            folder: folder.display().to_string(),
            problem: error.to_string(),
        }
    }

    /// Returns the stable error code.
    pub fn code(&self) -> ErrorCode {
        ErrorCode::BackendError
    }
}

impl From<Error> for windlass_core::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Folder { .. } => Self::InvalidInput(error.to_string()),
            Error::Stopped(_) => Self::agent(error.code(), error.to_string()),
        }
    }
}
