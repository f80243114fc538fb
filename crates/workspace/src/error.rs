//! Why a place could not be made, used, published or merged.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::{ErrorCode, Retry};

use crate::paths::PathError;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How long to leave a full disk alone before another try.
const DISK_FULL_PAUSE: Duration = Duration::from_secs(60);

/// What can go wrong between a repository and a place to work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The project's folder is not a repository that can be worked on.
    #[error("{}: {problem}", path.display())]
    Repository {
        /// The folder that was given.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// A file or folder cannot be used.
    #[error("{}: {problem}", path.display())]
    Path {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A file change that does not fit what is there.
    #[error("{path}: {problem}")]
    Change {
        /// The path as it was given.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Git ran and refused.
    #[error("git {what}: {said}")]
    Git {
        /// What git was asked to do.
        what: String,
        /// The first lines of what it said.
        said: String,
    },
    /// A branch cannot be moved or made.
    #[error("branch {branch}: {problem}")]
    Branch {
        /// Its name.
        branch: String,
        /// What stands in the way, and what to do.
        problem: String,
    },
    /// Nothing differs from the base, so there is nothing to commit.
    #[error("nothing differs from {base}: there is nothing to commit")]
    NothingToCommit {
        /// The commit the work began from.
        base: String,
    },
    /// There is no room left.
    #[error("no space left on the disk that holds {}: free some, then try again", path.display())]
    DiskFull {
        /// Something on that disk.
        path: PathBuf,
    },
    /// It took too long.
    #[error("{what} took longer than {} s", after.as_secs_f64())]
    Timeout {
        /// What was waited for.
        what: String,
        /// How long it was given.
        after: Duration,
    },
    /// A path that a model named leads where it must not, or cannot be used.
    #[error(transparent)]
    Paths(PathError),
    /// The process could not be started or held in.
    #[error(transparent)]
    Sandbox(#[from] windlass_sandbox::Error),
}

impl Error {
    /// What the system said about a path.
    pub(crate) fn io(path: impl AsRef<Path>, error: &io::Error) -> Self {
        let path = path.as_ref().to_owned();
        if is_full(error) {
            return Self::DiskFull { path };
        }
        Self::Path {
            path,
            problem: error.to_string(),
        }
    }

    pub(crate) fn repository(path: &Path, problem: impl Into<String>) -> Self {
        Self::Repository {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }

    pub(crate) fn branch(branch: &str, problem: impl Into<String>) -> Self {
        Self::Branch {
            branch: branch.to_owned(),
            problem: problem.into(),
        }
    }

    /// The stable name of this failure.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Timeout { .. } => ErrorCode::Timeout,
            Self::Sandbox(error) => error.code(),
            Self::Paths(error) => error.code(),
            Self::Change { .. } => ErrorCode::ToolFailed,
            _ => ErrorCode::BackendError,
        }
    }

    /// Whether doing the same thing again may help.
    pub fn retry(&self) -> Retry {
        match self {
            Self::DiskFull { .. } => Retry::After(DISK_FULL_PAUSE),
            Self::Timeout { .. } => Retry::Now,
            Self::Sandbox(error) => error.retry(),
            _ => Retry::Never,
        }
    }
}

impl From<PathError> for Error {
    fn from(error: PathError) -> Self {
        match &error {
            PathError::System { path, source } if is_full(source) => {
                Self::DiskFull { path: path.into() }
            }
            _ => Self::Paths(error),
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

impl From<Error> for windlass_core::Error {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match (&error, error.retry()) {
            (Error::Timeout { what, after }, _) => Self::Timeout {
                what: what.clone(),
                after: *after,
            },
            (_, Retry::After(after)) => Self::Agent {
                code: error.code(),
                message,
                retry_after: Some(after),
            },
            (_, Retry::Now) => Self::agent(error.code(), message),
            // An agent's failure of this code would be tried again, and this one need not be.
            _ if error.code() == ErrorCode::BackendError => Self::InvalidInput(message),
            _ => Self::agent(error.code(), message),
        }
    }
}
