//! Why a path was not used.

use std::io;

use rustix::io::Errno;
use windlass_core::{Error, ErrorCode};

use super::kind::PathKind;

/// A result whose error is [`PathError`].
pub type Result<T, E = PathError> = std::result::Result<T, E>;

/// What a path can fail with. Only [`Escape`](Self::Escape) breaks a rule of the workspace; the rest
/// is for whoever named the path to read and to do better.
///
/// Messages are fragments that read well after the name of the deed: `read: not found: a.txt`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The path leads out of the folder, or is written so that it could.
    #[error("path escapes sandbox")]
    Escape {
        /// The path as it was named.
        path: String,
        /// What about it leads out.
        why: &'static str,
    },
    /// The path stays inside, but must not be used for this.
    #[error("refused: {path}: {why}")]
    Refused {
        /// The path as it was named.
        path: String,
        /// What is against it, and what to do instead.
        why: &'static str,
    },
    /// Nothing is there.
    #[error("not found: {path}")]
    NotFound {
        /// The path as it was named.
        path: String,
    },
    /// Something is there already.
    #[error("already exists: {path}")]
    Exists {
        /// The path as it was named.
        path: String,
    },
    /// The system does not allow it.
    #[error("permission denied: {path}")]
    Denied {
        /// The path as it was named.
        path: String,
    },
    /// What is there is of another kind: a folder where a file was meant, a pipe, a device.
    #[error("{path}: is a {kind}, not a {wanted}")]
    WrongKind {
        /// The path as it was named.
        path: String,
        /// What is there.
        kind: PathKind,
        /// What was meant.
        wanted: PathKind,
    },
    /// The file is larger than whoever asked wants to hold.
    #[error("{path}: larger than {limit} bytes")]
    TooLarge {
        /// The path as it was named.
        path: String,
        /// The most that was wanted.
        limit: u64,
    },
    /// This kernel cannot resolve a path beneath a folder, so no path is used at all.
    #[error("this kernel has no openat2: Linux 5.6 or newer is needed")]
    Unsupported,
    /// The system failed.
    #[error("{path}: {source}")]
    System {
        /// The path as it was named.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

impl PathError {
    /// Whether the path leads out of the folder.
    pub fn is_escape(&self) -> bool {
        matches!(self, Self::Escape { .. })
    }

    /// Whether nothing is there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// The stable name of this failure.
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

    /// What the kernel's answer means for a path that it resolved beneath a folder.
    pub(super) fn from_errno(path: &str, errno: Errno) -> Self {
        let owned = || path.to_owned();
        match errno {
            Errno::XDEV => Self::escape(path, "a link or `..` leads out of the folder"),
            Errno::NOENT | Errno::NOTDIR => Self::NotFound { path: owned() },
            Errno::EXIST => Self::Exists { path: owned() },
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Self::Denied { path: owned() },
            Errno::LOOP => Self::refused(path, "its links go round in a circle"),
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
