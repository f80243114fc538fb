//! The result of a store operation.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::id::{AttemptRef, TaskId};

/// A [`Result`] with [`StoreError`].
pub type StoreResult<T> = Result<T, StoreError>;

/// A future returned by a store.
pub type StoreFuture<'a, T> = BoxFuture<'a, StoreResult<T>>;

/// The error of a store operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The record does not exist.
    #[error("there is no {what} {id}")]
    NotFound {
        /// The kind of record, such as task, project or blocker.
        what: &'static str,
        /// The requested id or name.
        id: String,
    },
    /// Another attempt has started. The write of this attempt changed nothing.
    #[error("{attempt} was superseded: another worker has the task")]
    Superseded {
        /// The superseded attempt.
        attempt: AttemptRef,
    },
    /// Another worker has taken over the landing. The write changed nothing.
    #[error("the landing was taken over by another worker")]
    LandingLost,
    /// The idempotency key was used with a different request.
    #[error(
        "the idempotency key {key:?} belongs to task {task}, which is different: use a new key"
    )]
    IdempotencyConflict {
        /// The key.
        key: String,
        /// The task with this key.
        task: TaskId,
    },
    /// The request is invalid, or the current state does not allow it.
    #[error("{0}")]
    Refused(String),
    /// The operation exceeded its time limit. A write that had already started may have been committed.
    #[error("{what} took longer than {} s", after.as_secs_f64())]
    Timeout {
        /// The operation.
        what: &'static str,
        /// The time limit.
        after: Duration,
    },
    /// The disk is full. Reads still work; writes work again when there is space.
    #[error("{0}")]
    Full(String),
    /// A newer program has migrated the store, and this one cannot use it any more. No write of it succeeds.
    #[error("{0}")]
    Outdated(String),
    /// The store cannot be used: it does not exist, is read-only, or is damaged.
    #[error("{0}")]
    Unavailable(String),
}

impl StoreError {
    /// Creates a [`NotFound`](Self::NotFound) error.
    pub fn not_found(what: &'static str, id: impl fmt::Display) -> Self {
        Self::NotFound {
            what,
            id: id.to_string(),
        }
    }

    /// Returns `true` if this program is too old for the store.
    pub fn is_outdated(&self) -> bool {
        matches!(self, Self::Outdated(_))
    }

    /// Returns `true` if the writing attempt no longer owns its task, or the writing worker its landing.
    pub fn is_superseded(&self) -> bool {
        matches!(self, Self::Superseded { .. } | Self::LandingLost)
    }
}
