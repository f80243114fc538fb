//! Limits how many fetches and pushes run at the same time.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::host::GitService;
use crate::error::ApiError;

/// How many fetches and pushes run at the same time.
const MAX_FETCHES: usize = 8;
const MAX_PUSHES: usize = 4;
/// How long a request waits for its turn.
const WAIT: Duration = Duration::from_secs(30);

/// Limits how many git processes run at the same time. Fetches and pushes do not take each other's slots.
#[derive(Debug, Clone)]
pub(crate) struct GitSlots {
    fetches: Arc<Semaphore>,
    pushes: Arc<Semaphore>,
}

impl Default for GitSlots {
    fn default() -> Self {
        Self {
            fetches: Arc::new(Semaphore::new(MAX_FETCHES)),
            pushes: Arc::new(Semaphore::new(MAX_PUSHES)),
        }
    }
}

impl GitSlots {
    /// Waits for a slot, which is free again when the value is dropped.
    pub(super) async fn take(&self, service: GitService) -> Result<OwnedSemaphorePermit, ApiError> {
        let slots = match service {
            GitService::Fetch => &self.fetches,
            GitService::Push => &self.pushes,
        };
        let taken = tokio::time::timeout(WAIT, Arc::clone(slots).acquire_owned()).await;
        let taken = taken.ok().and_then(Result::ok);
        taken.ok_or_else(|| {
            ApiError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                "too many fetches or pushes are running: try again",
            )
            .with_retry_after(10)
        })
    }
}
