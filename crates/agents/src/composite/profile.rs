//! The settings of a composite.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_core::{Error, ErrorCode};

/// The default cool-down of a failed node.
const COOL_DOWN: Duration = Duration::from_secs(60);

/// How the nodes of a composite work together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CompositeKind {
    /// One node, under another name.
    Single,
    /// The first available node answers.
    Fallback,
    /// The first node plans, the second node executes the plan.
    PlanExecute,
}

/// A failure after which the next node is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FallbackCause {
    /// The provider limits the rate of requests, or is overloaded.
    RateLimited,
    /// The agent is unavailable: not installed, or its version is not supported.
    Unavailable,
    /// The turn exceeded its deadline.
    Timeout,
    /// The credentials are missing or were rejected.
    AuthFailed,
    /// The agent lost the session.
    SessionOrphaned,
    /// The agent itself failed.
    BackendError,
    /// A tool failure ended the turn.
    ToolFailed,
    /// A policy or a person denied permission.
    PermissionDenied,
    /// The output exceeded the limits.
    OutputLimit,
    /// The budget of steps, tokens or cost is exhausted.
    BudgetExceeded,
}

impl FallbackCause {
    /// The default causes: the failures that another agent probably does not share.
    pub const DEFAULT: [Self; 6] = [
        Self::RateLimited,
        Self::Unavailable,
        Self::Timeout,
        Self::AuthFailed,
        Self::SessionOrphaned,
        Self::BackendError,
    ];

    /// Returns the cause for an error code. A cancelled turn does not fall back.
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

    /// Returns the cause for an error that prevented a turn from starting.
    pub(super) fn from_error(error: &Error) -> Option<Self> {
        match error {
            Error::Unavailable { .. } => Some(Self::Unavailable),
            other => Self::from_code(other.code()),
        }
    }
}

/// The settings of a composite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompositeProfile {
    /// How its nodes work together.
    pub kind: CompositeKind,
    /// The failures after which the next node is used. Only the kind `Fallback` uses them.
    pub on: Vec<FallbackCause>,
    /// The cool-down of a node that failed with one of these, unless its provider sets the duration.
    pub cool_down: Duration,
}

impl CompositeProfile {
    /// Creates a profile of this kind with the default settings.
    pub fn new(kind: CompositeKind) -> Self {
        Self {
            kind,
            on: FallbackCause::DEFAULT.to_vec(),
            cool_down: COOL_DOWN,
        }
    }

    /// Returns `true` if the next node is used after this failure.
    pub(super) fn falls_back_on(&self, cause: Option<FallbackCause>) -> bool {
        self.kind == CompositeKind::Fallback && cause.is_some_and(|cause| self.on.contains(&cause))
    }
}
