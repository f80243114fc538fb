//! The job of one request, from its permit to its trace.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use windlass_core::{ErrorCode, TraceError};
use windlass_wire::{Dialect, ErrorKind, ModelError, ModelEvent, ModelRequest};

use super::client::{AbortReason, ClientSender};
use super::router::ApiState;
use super::trace::RequestTrace;
use super::{ServedModel, native, text};

/// The status of a request whose client disconnected. Only the log and the trace show it.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// A request with everything that its response needs. It outlives the client's connection until cleanup is
/// done.
pub(super) struct RequestJob {
    pub(super) id: String,
    pub(super) dialect: Dialect,
    pub(super) request: ModelRequest,
    pub(super) served: ServedModel,
    pub(super) client: ClientSender,
    pub(super) state: Arc<ApiState>,
    pub(super) permit: OwnedSemaphorePermit,
}

impl RequestJob {
    /// Responds, cleans up and saves the trace.
    pub(super) async fn run(self) {
        let mut request_trace = RequestTrace::start(
            self.client.clock(),
            &format!("request ({})", self.dialect),
            &self.served.name,
        );
        let result = match &self.served.native {
            Some(native) => native::answer(&self, native.as_ref(), &mut request_trace).await,
            None => text::answer(&self, &mut request_trace).await,
        };
        let error = match result {
            Ok(()) => None,
            Err(reason) => Some(self.abort(reason).await),
        };
        let root = request_trace.finish(error);
        let status = root.error.as_ref().map(|error| error.code.as_str());
        tracing::info!(
            trace = self.id,
            agent = self.served.name,
            model = self.request.model,
            dialect = %self.dialect,
            ms = root.duration_ms,
            error = status,
            "request completed"
        );
        drop(self.permit);
        self.state.traces.save(self.id, root).await;
    }

    /// Sends the error to the client if it is still connected, and returns the error for the trace.
    async fn abort(&self, reason: AbortReason) -> TraceError {
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
        let code = error_code(error.kind);
        let message = format!("{} ({})", error.message, error.status);
        // A client that has disconnected does not need the error.
        let _ = self.client.send(ModelEvent::Error(error)).await;
        trace_error(code, message)
    }

    /// Returns the start event of the response, with the requested model name.
    pub(super) fn start(&self) -> ModelEvent {
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

fn error_code(kind: ErrorKind) -> ErrorCode {
    match kind {
        ErrorKind::Timeout => ErrorCode::Timeout,
        ErrorKind::RateLimited => ErrorCode::RateLimited,
        ErrorKind::QuotaExhausted => ErrorCode::BudgetExceeded,
        ErrorKind::Permission => ErrorCode::PermissionDenied,
        _ => ErrorCode::BackendError,
    }
}
