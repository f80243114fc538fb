//! What can go wrong. A cache never does: what cannot be read is built again.

use std::io;
use std::path::Path;

use windlass_core::ErrorCode;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder to be indexed cannot be read.
    #[error("{folder}: {problem}: name a folder that can be read")]
    Folder {
        /// The folder.
        folder: String,
        /// Why not.
        problem: String,
    },
    /// A thread of the indexer ended before its work did.
    #[error("the indexer stopped halfway: {0}")]
    Stopped(String),
}

impl Error {
    pub(crate) fn folder(folder: &Path, error: &io::Error) -> Self {
        Self::Folder {
            folder: folder.display().to_string(),
            problem: error.to_string(),
        }
    }

    /// The stable name of this failure.
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
