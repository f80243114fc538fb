//! Errors, their stable codes, and whether a retry may help.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::SessionId;

/// A [`Result`](std::result::Result) with [`Error`] as the default error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The stable code of a failure, the same for every agent.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// A time limit was exceeded.
    Timeout,
    /// The provider limits the request rate.
    RateLimited,
    /// The credentials are missing or were rejected.
    AuthFailed,
    /// The agent that held the session no longer runs.
    SessionOrphaned,
    /// A tool failed in a way that ended the turn.
    ToolFailed,
    /// A policy or a person denied the permission.
    PermissionDenied,
    /// The agent itself failed.
    BackendError,
    /// The caller cancelled the turn.
    Cancelled,
    /// The output exceeded a limit.
    OutputLimit,
    /// The budget of steps, tokens or cost is exhausted.
    BudgetExceeded,
    /// The cause is unknown.
    Unknown,
}

impl ErrorCode {
    /// Returns the name as it appears in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "Timeout",
            Self::RateLimited => "RateLimited",
            Self::AuthFailed => "AuthFailed",
            Self::SessionOrphaned => "SessionOrphaned",
            Self::ToolFailed => "ToolFailed",
            Self::PermissionDenied => "PermissionDenied",
            Self::BackendError => "BackendError",
            Self::Cancelled => "Cancelled",
            Self::OutputLimit => "OutputLimit",
            Self::BudgetExceeded => "BudgetExceeded",
            Self::Unknown => "Unknown",
        }
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether repeating the same operation may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// A repeated request will fail the same way.
    Never,
    /// A retry may succeed.
    Now,
    /// A retry may succeed after this delay.
    After(Duration),
}

impl Retry {
    /// Returns `true` if a retry may succeed.
    pub fn is_worthwhile(self) -> bool {
        self != Self::Never
    }
}

/// An error of an agent operation.
///
/// Messages are fragments that can follow "failed:". They name the subject and the next step.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A configuration value is invalid.
    #[error("{key}: {problem}")]
    Config {
        /// The dotted path of the value.
        key: String,
        /// The value found and the value expected.
        problem: String,
    },
    /// No backend has this name.
    #[error("{0}")]
    UnknownBackend(crate::lookup::UnknownName),
    /// A backend reference such as `module:attr` cannot be resolved.
    #[error(transparent)]
    Reference(#[from] crate::lookup::ReferenceError),
    /// The backend does not know this session.
    #[error("session {session} is not known to {backend}: start a new one")]
    SessionNotFound {
        /// The name of the backend.
        backend: String,
        /// The unknown session.
        session: SessionId,
    },
    /// The session already runs a turn.
    #[error("session {session} is busy with another prompt: wait for it to end, or cancel it")]
    SessionBusy {
        /// The busy session.
        session: SessionId,
    },
    /// The backend does not support the operation. Its capabilities say the same.
    #[error("{backend} cannot {what}")]
    Unsupported {
        /// The name of the backend.
        backend: String,
        /// The unsupported operation, as a verb phrase.
        what: String,
    },
    /// The agent is not installed, or its version is not supported.
    #[error("{backend} is not available: {problem}")]
    Unavailable {
        /// The name of the backend.
        backend: String,
        /// What is missing and how to install it.
        problem: String,
    },
    /// The input was rejected before it reached an agent.
    #[error("{0}")]
    InvalidInput(String),
    /// A time limit was exceeded.
    #[error("{what} took longer than {} s", after.as_secs_f64())]
    Timeout {
        /// The operation that did not finish.
        what: String,
        /// The time limit.
        after: Duration,
    },
    /// The caller cancelled the operation.
    #[error("cancelled")]
    Cancelled,
    /// The code of the backend panicked. The panic was caught.
    #[error("the {backend} backend panicked: {message}")]
    Panicked {
        /// The name of the backend.
        backend: String,
        /// The panic message.
        message: String,
    },
    /// The agent failed with the given code.
    #[error("{message}")]
    Agent {
        /// The cause.
        code: ErrorCode,
        /// The message from the agent.
        message: String,
        /// How long the agent or its provider asked to wait before a retry.
        retry_after: Option<Duration>,
    },
}

impl Error {
    /// Creates an agent error without a retry delay.
    pub fn agent(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Agent {
            code,
            message: message.into(),
            retry_after: None,
        }
    }

    /// Creates an error for an operation that a backend does not support; `what` is a verb phrase.
    pub fn unsupported(backend: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Unsupported {
            backend: backend.into(),
            what: what.into(),
        }
    }

    /// Creates an error for an invalid configuration value.
    pub fn config(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Config {
            key: key.into(),
            problem: problem.into(),
        }
    }

    /// Returns the stable code of this error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Config { .. }
            | Self::UnknownBackend(_)
            | Self::Reference(_)
            | Self::Unsupported { .. }
            | Self::Unavailable { .. }
            | Self::InvalidInput(_)
            | Self::Panicked { .. }
            | Self::SessionBusy { .. } => ErrorCode::BackendError,
            Self::SessionNotFound { .. } => ErrorCode::SessionOrphaned,
            Self::Timeout { .. } => ErrorCode::Timeout,
            Self::Cancelled => ErrorCode::Cancelled,
            Self::Agent { code, .. } => *code,
        }
    }

    /// Returns whether repeating the same operation may succeed.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Agent {
                retry_after: Some(after),
                ..
            } => Retry::After(*after),
            Self::Timeout { .. } | Self::SessionBusy { .. } => Retry::Now,
            Self::Agent {
                code:
                    ErrorCode::Timeout
                    | ErrorCode::RateLimited
                    | ErrorCode::SessionOrphaned
                    | ErrorCode::BackendError,
                ..
            } => Retry::Now,
            _ => Retry::Never,
        }
    }
}
