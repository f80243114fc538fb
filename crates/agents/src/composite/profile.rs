//! What a composite is, as data.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_core::{Error, ErrorCode};

/// How long a node that failed is not asked, where nobody says.
const COOL_DOWN: Duration = Duration::from_secs(60);

/// How the nodes of a composite work together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CompositeKind {
    /// One node, under another name.
    Single,
    /// The first node that can answers.
    Fallback,
    /// The first plans, the second carries the plan out.
    PlanExecute,
}

/// Why a node is passed over for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FallbackCause {
    /// The provider asked for fewer requests, or has too much to do.
    RateLimited,
    /// The agent is not there: not installed, or in no usable version.
    Unavailable,
    /// The time allowed ran out.
    Timeout,
    /// The credentials are missing or were refused.
    AuthFailed,
    /// The agent that held the session is gone.
    SessionOrphaned,
    /// The agent itself failed.
    BackendError,
    /// A tool failed in a way that ended the turn.
    ToolFailed,
    /// A policy or a person said no.
    PermissionDenied,
    /// More output came than the limits allow.
    OutputLimit,
    /// The steps, tokens or money allowed are used up.
    BudgetExceeded,
}

impl FallbackCause {
    /// What is passed over where nobody says: all that another agent does not share.
    pub const DEFAULT: [Self; 6] = [
        Self::RateLimited,
        Self::Unavailable,
        Self::Timeout,
        Self::AuthFailed,
        Self::SessionOrphaned,
        Self::BackendError,
    ];

    /// The cause of a failure with this code. Nobody stands in for one who was cancelled.
    pub(super) fn from_code(code: ErrorCode) -> Option<Self> {
        Some(match code {
            ErrorCode::Cancelled => return None,
            ErrorCode::RateLimited => Self::RateLimited,
            ErrorCode::Timeout => Self::Timeout,
            ErrorCode::AuthFailed => Self::AuthFailed,
            ErrorCode::SessionOrphaned => Self::SessionOrphaned,
            ErrorCode::ToolFailed => Self::ToolFailed,
            ErrorCode::PermissionDenied => Self::PermissionDenied,
            ErrorCode::OutputLimit => Self::OutputLimit,
            ErrorCode::BudgetExceeded => Self::BudgetExceeded,
            _ => Self::BackendError,
        })
    }

    /// The cause of an error that kept a turn from beginning.
    pub(super) fn from_error(error: &Error) -> Option<Self> {
        match error {
            Error::Unavailable { .. } => Some(Self::Unavailable),
            other => Self::from_code(other.code()),
        }
    }
}

/// What a composite goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompositeProfile {
    /// How its nodes work together.
    pub kind: CompositeKind,
    /// Why a node is passed over for the next one. Only a fallback does that.
    pub on: Vec<FallbackCause>,
    /// How long a node that failed so is not asked, unless its provider says itself how long.
    pub cool_down: Duration,
}

impl CompositeProfile {
    /// A composite of this kind that does as usual.
    pub fn new(kind: CompositeKind) -> Self {
        Self {
            kind,
            on: FallbackCause::DEFAULT.to_vec(),
            cool_down: COOL_DOWN,
        }
    }

    /// Whether the next node is asked after this.
    pub(super) fn falls_back_on(&self, cause: Option<FallbackCause>) -> bool {
        self.kind == CompositeKind::Fallback && cause.is_some_and(|cause| self.on.contains(&cause))
    }
}
