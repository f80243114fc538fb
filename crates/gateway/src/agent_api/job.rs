//! One request being answered, from its permit to its trace.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use windlass_core::{ErrorCode, TraceError};
use windlass_wire::{Dialect, ErrorKind, ModelError, ModelEvent, ModelRequest};

use super::client::{AbortReason, ClientSender};
use super::router::ApiState;
use super::trace::RequestTrace;
use super::{ServedModel, native, text};

/// The status of a request whose client went away: nobody sees it, the log does.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// A request with all that its answer needs. It outlives the client's connection by as long as it takes to tidy up.
pub(super) struct RequestJob {
    pub(super) id: String,
    pub(super) dialect: Dialect,
    pub(super) request: ModelRequest,
    pub(super) served: ServedModel,
    pub(super) voice: ClientSender,
    pub(super) shared: Arc<ApiState>,
    pub(super) permit: OwnedSemaphorePermit,
}

impl RequestJob {
    /// Answers, tidies up, and keeps the trace.
    pub(super) async fn run(self) {
        let mut book = RequestTrace::start(
            self.voice.clock(),
            &format!("request ({})", self.dialect),
            &self.served.name,
        );
        let answered = match &self.served.native {
            Some(native) => native::answer(&self, native.as_ref(), &mut book).await,
            None => text::answer(&self, &mut book).await,
        };
        let error = match answered {
            Ok(()) => None,
            Err(halt) => Some(self.abort(halt).await),
        };
        let root = book.finish(error);
        let status = root.error.as_ref().map(|error| error.code.as_str());
        tracing::info!(
            trace = self.id,
            agent = self.served.name,
            model = self.request.model,
            dialect = %self.dialect,
            ms = root.duration_ms,
            error = status,
            "request answered"
        );
        drop(self.permit);
        self.shared.traces.save(self.id, root).await;
    }

    /// Tells the client as far as it is there, and says how the trace has it.
    async fn abort(&self, halt: AbortReason) -> TraceError {
        let told = |code, message: String| TraceError { code, message };
        let error = match halt {
            AbortReason::ClientGone => {
                let message = format!("the client went away ({CLIENT_CLOSED_REQUEST})");
                tracing::info!(
                    trace = self.id,
                    status = CLIENT_CLOSED_REQUEST,
                    "the client went away"
                );
                return told(ErrorCode::Cancelled, message);
            }
            AbortReason::ShuttingDown => ModelError::new(ErrorKind::Overloaded, "the server stops"),
            AbortReason::Failed(error) => error,
        };
        let code = code_of(error.kind);
        let message = format!("{} ({})", error.message, error.status);
        // A client that is gone by now has heard enough.
        let _ = self.voice.send(ModelEvent::Error(error)).await;
        told(code, message)
    }

    /// The beginning of the answer, under the name that was asked for.
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

fn code_of(kind: ErrorKind) -> ErrorCode {
    match kind {
        ErrorKind::Timeout => ErrorCode::Timeout,
        ErrorKind::RateLimited => ErrorCode::RateLimited,
        ErrorKind::QuotaExhausted => ErrorCode::BudgetExceeded,
        ErrorKind::Permission => ErrorCode::PermissionDenied,
        _ => ErrorCode::BackendError,
    }
}
