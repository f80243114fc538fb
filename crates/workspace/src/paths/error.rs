//! Errors of path operations.

use std::io;

use rustix::io::Errno;
use windlass_core::{Error, ErrorCode};

use super::kind::PathKind;

/// A result with [`PathError`] as its default error type.
pub type Result<T, E = PathError> = std::result::Result<T, E>;

/// An error of a path operation. Only [`Escape`](Self::Escape) violates a rule of the workspace;
/// the others are for the caller, who can choose another path.
///
/// Messages are fragments that follow the name of the operation: `read: not found: a.txt`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The path leads out of the directory, or is written so that it could.
    #[error("path escapes sandbox")]
    Escape {
        /// The path as it was given.
        path: String,
        /// The part of it that leads out.
        why: &'static str,
    },
    /// The path stays inside, but must not be used for this operation.
    #[error("refused: {path}: {why}")]
    Refused {
        /// The path as it was given.
        path: String,
        /// The reason, and an alternative.
        why: &'static str,
    },
    /// The path does not exist.
    #[error("not found: {path}")]
    NotFound {
        /// The path as it was given.
        path: String,
    },
    /// The path already exists.
    #[error("already exists: {path}")]
    Exists {
        /// The path as it was given.
        path: String,
    },
    /// The system denies access.
    #[error("permission denied: {path}")]
    Denied {
        /// The path as it was given.
        path: String,
    },
    /// The path has another kind: a directory where a file was expected, a pipe, a device.
    #[error("{path}: is a {kind}, not a {wanted}")]
    WrongKind {
        /// The path as it was given.
        path: String,
        /// The actual kind.
        kind: PathKind,
        /// The expected kind.
        wanted: PathKind,
    },
    /// The file is larger than the caller's limit.
    #[error("{path}: larger than {limit} bytes")]
    TooLarge {
        /// The path as it was given.
        path: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// This kernel cannot resolve a path beneath a directory, so no path is used at all.
    #[error("this kernel has no openat2: Linux 5.6 or newer is needed")]
    Unsupported,
    /// The system returned an error.
    #[error("{path}: {source}")]
    System {
        /// The path as it was given.
        path: String,
        /// The system's error.
        source: io::Error,
    },
}

impl PathError {
    /// Returns `true` if the path leads out of the directory.
    pub fn is_escape(&self) -> bool {
        matches!(self, Self::Escape { .. })
    }

    /// Returns `true` if the path does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// Returns the stable code of this error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Escape { .. } | Self::Refused { .. } | Self::Denied { .. } => {
                ErrorCode::PermissionDenied
            }
            _ => ErrorCode::ToolFailed,
        }
    }

    pub(super) fn escape(path: &str, why: &'static str) -> Self {
        Self::Escape {
            path: path.to_owned(),
            why,
        }
    }

    pub(super) fn refused(path: &str, why: &'static str) -> Self {
        Self::Refused {
            path: path.to_owned(),
            why,
        }
    }

    pub(super) fn wrong_kind(path: &str, kind: PathKind, wanted: PathKind) -> Self {
        Self::WrongKind {
            path: path.to_owned(),
            kind,
            wanted,
        }
    }

    /// Converts the kernel's error for a path that it resolved beneath a directory.
    pub(super) fn from_errno(path: &str, errno: Errno) -> Self {
        let owned = || path.to_owned();
        match errno {
            Errno::XDEV => Self::escape(path, "a link or `..` leads out of the directory"),
            Errno::NOENT | Errno::NOTDIR => Self::NotFound { path: owned() },
            Errno::EXIST => Self::Exists { path: owned() },
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Self::Denied { path: owned() },
            Errno::LOOP => Self::refused(path, "too many levels of links"),
            Errno::NAMETOOLONG => Self::refused(path, "the name is too long"),
            Errno::ISDIR => Self::wrong_kind(path, PathKind::Folder, PathKind::File),
            Errno::NOSYS => Self::Unsupported,
            other => Self::System {
                path: owned(),
                source: other.into(),
            },
        }
    }

    pub(super) fn io(path: &str, error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(errno) => Self::from_errno(path, errno),
            None => Self::System {
                path: path.to_owned(),
                source: error,
            },
        }
    }
}

impl From<PathError> for Error {
    fn from(error: PathError) -> Self {
        Self::agent(error.code(), error.to_string())
    }
}
