//! What can go wrong, under which stable code, and whether trying again may help.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::SessionId;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The stable name of a failure, the same for every agent.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// The time allowed ran out.
    Timeout,
    /// The provider asked for fewer requests.
    RateLimited,
    /// The credentials are missing or were refused.
    AuthFailed,
    /// The agent that held the session is gone.
    SessionOrphaned,
    /// A tool failed in a way that ended the turn.
    ToolFailed,
    /// A policy or a person said no.
    PermissionDenied,
    /// The agent itself failed.
    BackendError,
    /// Somebody asked for the turn to stop.
    Cancelled,
    /// More output came than the limits allow.
    OutputLimit,
    /// The steps, tokens or money allowed are used up.
    BudgetExceeded,
    /// Nothing better is known.
    Unknown,
}

impl ErrorCode {
    /// The name as it appears in JSON.
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

/// Whether doing the same thing again may end differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// The same request will fail the same way.
    Never,
    /// Worth another try.
    Now,
    /// Worth another try after this long.
    After(Duration),
}

impl Retry {
    /// Whether another try may help at all.
    pub fn is_worthwhile(self) -> bool {
        self != Self::Never
    }
}

/// Everything that reaching an agent can fail with.
///
/// Messages are fragments that read well after "failed:"; they name the thing and the next step.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A configuration value does not fit.
    #[error("{key}: {problem}")]
    Config {
        /// Where the value stands, as a dotted path.
        key: String,
        /// What was found, what was expected.
        problem: String,
    },
    /// No backend has this name.
    #[error("{0}")]
    UnknownBackend(crate::registry::UnknownName),
    /// A backend reference such as `module:attr` leads nowhere.
    #[error(transparent)]
    Reference(#[from] crate::registry::ReferenceError),
    /// The backend does not know this session.
    #[error("session {session} is not known to {backend}: start a new one")]
    SessionNotFound {
        /// The backend that was asked.
        backend: String,
        /// The session it does not have.
        session: SessionId,
    },
    /// A turn is under way in this session.
    #[error("session {session} is busy with another prompt: wait for it to end, or cancel it")]
    SessionBusy {
        /// The busy session.
        session: SessionId,
    },
    /// The backend cannot do this, and its capabilities say so.
    #[error("{backend} cannot {what}")]
    Unsupported {
        /// The backend that was asked.
        backend: String,
        /// What it cannot do, as a verb phrase.
        what: String,
    },
    /// The agent is not there to be asked: not installed, or not of a version that can be used.
    #[error("{backend} is not available: {problem}")]
    Unavailable {
        /// The backend that was asked.
        backend: String,
        /// What is missing and how to get it.
        problem: String,
    },
    /// The input was refused before any agent saw it.
    #[error("{0}")]
    InvalidInput(String),
    /// The time allowed ran out.
    #[error("{what} took longer than {} s", after.as_secs_f64())]
    Timeout {
        /// What was being waited for.
        what: String,
        /// How long it was given.
        after: Duration,
    },
    /// Somebody asked for the work to stop.
    #[error("cancelled")]
    Cancelled,
    /// The backend's own code panicked; the caller is unharmed.
    #[error("the {backend} backend panicked: {message}")]
    Panicked {
        /// The backend whose code panicked.
        backend: String,
        /// What the panic said.
        message: String,
    },
    /// The agent failed for the reason in the code.
    #[error("{message}")]
    Agent {
        /// The reason.
        code: ErrorCode,
        /// What the agent said.
        message: String,
        /// How long the agent or its provider asked us to wait.
        retry_after: Option<Duration>,
    },
}

impl Error {
    /// An agent's failure without a waiting time.
    pub fn agent(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Agent {
            code,
            message: message.into(),
            retry_after: None,
        }
    }

    /// A configuration value that does not fit.
    pub fn config(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Config {
            key: key.into(),
            problem: problem.into(),
        }
    }

    /// The stable name of this failure.
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

    /// Whether doing the same thing again may help.
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
