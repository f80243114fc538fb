//! The job of one request: what its response needs.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use windlass_core::{ErrorCode, TraceError};
use windlass_wire::{Dialect, ErrorKind, ModelError, ModelEvent, ModelRequest};

use crate::ServedModel;
use crate::client::{AbortReason, ClientSender};
use crate::state::ApiState;

/// The status of a request after its client disconnected. Only the log and the trace show it.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// A request with everything that its response needs. It outlives the client's connection until cleanup is
/// done.
pub(crate) struct RequestJob {
    pub(crate) id: String,
    pub(crate) dialect: Dialect,
    pub(crate) request: ModelRequest,
    pub(crate) served: ServedModel,
    pub(crate) client: ClientSender,
    pub(crate) state: Arc<ApiState>,
    pub(crate) permit: OwnedSemaphorePermit,
}

impl RequestJob {
    /// Sends the error to the client if it is still connected, and returns the error for the trace.
    pub(crate) async fn abort(&self, reason: AbortReason) -> TraceError {
        let trace_error = |code, message: String| TraceError { code, message };
        let error = match reason {
            AbortReason::ClientGone => {
                let message = format!("the client disconnected ({CLIENT_CLOSED_REQUEST})");
                tracing::info!(
                    trace = self.id,
                    status = CLIENT_CLOSED_REQUEST,
                    "the client disconnected"
                );
                return trace_error(ErrorCode::Cancelled, message);
            }
            AbortReason::ShuttingDown => {
                ModelError::new(ErrorKind::Overloaded, "the server is shutting down")
            }
            AbortReason::Failed(error) => error,
        };
        let code = error_code(&error);
        let message = format!("{} ({})", error.message, error.status);
        // A client that has disconnected does not need the error.
        let _ = self.client.send(ModelEvent::Error(error)).await;
        trace_error(code, message)
    }

    /// Returns the start event of the response, with the requested model name.
    pub(crate) fn start(&self) -> ModelEvent {
        let prefix = match self.dialect {
            Dialect::Responses => "resp_",
            Dialect::Messages => "msg_",
            _ => "chatcmpl-",
        };
        ModelEvent::Start {
            id: format!("{prefix}{}", self.id),
            model: self.request.model.clone(),
        }
    }
}

fn error_code(error: &ModelError) -> ErrorCode {
    match error.kind {
        ErrorKind::Authentication => ErrorCode::AuthFailed,
        ErrorKind::Timeout => ErrorCode::Timeout,
        ErrorKind::RateLimited => ErrorCode::RateLimited,
        ErrorKind::QuotaExhausted => ErrorCode::BudgetExceeded,
        ErrorKind::Permission => ErrorCode::PermissionDenied,
        _ => ErrorCode::BackendError,
    }
}
