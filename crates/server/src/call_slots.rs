//! Limits how many calls of MCP tools run at the same time.

use std::sync::Arc;

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ApiError;

/// The maximum number of calls that run at the same time.
const MAX_CALLS: usize = 64;
/// The maximum number of agents that answer prompts at the same time.
const MAX_ASKS: usize = 4;

/// What a call needs a slot for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotKind {
    /// Reads and writes of the store.
    Call,
    /// A call that runs an agent.
    Ask,
}

/// The slots of one server.
#[derive(Debug, Clone)]
pub(crate) struct CallSlots {
    calls: Arc<Semaphore>,
    asks: Arc<Semaphore>,
}

impl Default for CallSlots {
    fn default() -> Self {
        Self {
            calls: Arc::new(Semaphore::new(MAX_CALLS)),
            asks: Arc::new(Semaphore::new(MAX_ASKS)),
        }
    }
}

impl CallSlots {
    /// Takes a slot, which is free again when the value is dropped. Fails immediately if no slot is free.
    pub(crate) fn take(&self, kind: SlotKind) -> Result<OwnedSemaphorePermit, ApiError> {
        let (slots, message) = match kind {
            SlotKind::Call => (
                &self.calls,
                format!("{MAX_CALLS} calls are running: wait for one of them, then try again"),
            ),
            SlotKind::Ask => (
                &self.asks,
                format!("{MAX_ASKS} agents are answering: wait for one of them, then try again"),
            ),
        };
        let busy = |_| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message);
        Arc::clone(slots).try_acquire_owned().map_err(busy)
    }
}
