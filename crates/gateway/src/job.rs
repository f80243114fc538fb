//! The job of one request: what its response needs.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use windlass_core::{ErrorCode, TraceError, TraceParent, WorkLabel};
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
    /// The work for which its calls are counted.
    pub(crate) work: WorkLabel,
    /// The span of the caller.
    pub(crate) parent: Option<TraceParent>,
}

impl RequestJob {
    /// Sends the error to the client if it is still connected, and returns the error for the trace.
    pub(crate) async fn abort(&self, reason: AbortReason) -> TraceError {
        let error = match reason {
            AbortReason::ClientGone => return client_gone(&self.id),
            AbortReason::ShuttingDown => {
                ModelError::new(ErrorKind::Overloaded, "the server is shutting down")
            }
            AbortReason::Failed(error) => error,
        };
        let trace = trace_error(&error);
        // A client that has disconnected does not need the error.
        let _ = self.client.send(ModelEvent::Error(error)).await;
        trace
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

/// Logs that the client disconnected, and returns the error for the trace.
pub(crate) fn client_gone(id: &str) -> TraceError {
    let status = CLIENT_CLOSED_REQUEST;
    tracing::info!(trace = id, status, "the client disconnected");
    TraceError {
        code: ErrorCode::Cancelled,
        message: format!("the client disconnected ({status})"),
    }
}

/// Returns the error for the trace.
pub(crate) fn trace_error(error: &ModelError) -> TraceError {
    TraceError {
        code: error_code(error),
        message: format!("{} ({})", error.message, error.status),
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
