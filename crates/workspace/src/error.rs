//! Errors of creating, using, publishing or merging a clone.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::{ErrorCode, Retry};

use crate::paths::PathError;

/// A result with [`Error`] as its default error type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How long to wait before retrying after the disk was full.
const DISK_FULL_DELAY: Duration = Duration::from_secs(60);
/// A disk with less than this is full: git writes more in one command.
const MIN_FREE_BYTES: u64 = 256 << 10;

/// An error of an operation on a repository or a clone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The project's directory is not a usable repository.
    #[error("{}: {problem}", path.display())]
    Repository {
        /// The directory that was given.
        path: PathBuf,
        /// Why it cannot be used, and how to fix it.
        problem: String,
    },
    /// A file or directory cannot be used.
    #[error("{}: {problem}", path.display())]
    Path {
        /// The file or directory.
        path: PathBuf,
        /// Why it cannot be used.
        problem: String,
    },
    /// A file change does not match the existing files.
    #[error("{path}: {problem}")]
    Change {
        /// The path as it was given.
        path: String,
        /// Why it cannot be applied.
        problem: String,
    },
    /// Git exited with an error.
    #[error("git {what}: {message}")]
    Git {
        /// The git command.
        what: String,
        /// The first lines of its error output.
        message: String,
    },
    /// A branch cannot be created or updated.
    #[error("branch {branch}: {problem}")]
    Branch {
        /// The name of the branch.
        branch: String,
        /// The reason, and how to fix it.
        problem: String,
    },
    /// Nothing differs from the base, so there is nothing to commit.
    #[error("nothing differs from {base}: there is nothing to commit")]
    NothingToCommit {
        /// The base commit.
        base: String,
    },
    /// The disk is full.
    #[error("no space left on the disk that holds {}: free some, then try again", path.display())]
    DiskFull {
        /// A path on that disk.
        path: PathBuf,
    },
    /// The operation took too long.
    #[error("{what} took longer than {} s", after.as_secs_f64())]
    Timeout {
        /// The operation.
        what: String,
        /// Its time limit.
        after: Duration,
    },
    /// A path given by a model leaves the directory, or cannot be used.
    #[error(transparent)]
    Paths(PathError),
    /// The process could not be started or sandboxed.
    #[error(transparent)]
    Sandbox(#[from] windlass_sandbox::Error),
}

impl Error {
    /// Converts an I/O error about a path.
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

    /// Returns the error for a full disk if the one that holds this directory is full, for a caller whose command has failed
    /// without a reason.
    pub fn of_full_disk(dir: &Path) -> Option<Self> {
        let disk = rustix::fs::statvfs(dir).ok()?;
        (disk.f_bavail * disk.f_frsize < MIN_FREE_BYTES).then(|| Self::DiskFull {
            path: dir.to_owned(),
        })
    }

    /// Returns the stable code of this error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Timeout { .. } => ErrorCode::Timeout,
            Self::Sandbox(error) => error.code(),
            Self::Paths(error) => error.code(),
            Self::Change { .. } => ErrorCode::ToolFailed,
            _ => ErrorCode::BackendError,
        }
    }

    /// Returns whether repeating the operation may help.
    pub fn retry(&self) -> Retry {
        match self {
            Self::DiskFull { .. } => Retry::After(DISK_FULL_DELAY),
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
            // An agent error with this code would be retried, which would not help here.
            _ if error.code() == ErrorCode::BackendError => Self::InvalidInput(message),
            _ => Self::agent(error.code(), message),
        }
    }
}
