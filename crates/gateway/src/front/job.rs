//! One request being answered, from its permit to its trace.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use windlass_core::{ErrorCode, TraceError};
use windlass_wire::{Dialect, ErrorKind, ModelError, ModelEvent, ModelRequest};

use super::book::Book;
use super::serve::Shared;
use super::voice::{Halt, Voice};
use super::{Served, native, text};

/// The status of a request whose client went away: nobody sees it, the log does.
const GONE: u16 = 499;

/// A request with all that its answer needs. It outlives the client's connection by as long as it takes to tidy up.
pub(super) struct Job {
    pub(super) id: String,
    pub(super) dialect: Dialect,
    pub(super) request: ModelRequest,
    pub(super) served: Served,
    pub(super) voice: Voice,
    pub(super) shared: Arc<Shared>,
    pub(super) permit: OwnedSemaphorePermit,
}

impl Job {
    /// Answers, tidies up, and keeps the trace.
    pub(super) async fn run(self) {
        let mut book = Book::open(
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
            Err(halt) => Some(self.halted(halt).await),
        };
        let root = book.close(error);
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
        self.shared.traces.keep(self.id, root).await;
    }

    /// Tells the client as far as it is there, and says how the trace has it.
    async fn halted(&self, halt: Halt) -> TraceError {
        let told = |code, message: String| TraceError { code, message };
        let error = match halt {
            Halt::Gone => {
                let message = format!("the client went away ({GONE})");
                tracing::info!(trace = self.id, status = GONE, "the client went away");
                return told(ErrorCode::Cancelled, message);
            }
            Halt::Stopping => ModelError::new(ErrorKind::Overloaded, "the server stops"),
            Halt::Failed(error) => error,
        };
        let code = code_of(error.kind);
        let message = format!("{} ({})", error.message, error.status);
        // A client that is gone by now has heard enough.
        let _ = self.voice.say(ModelEvent::Error(error)).await;
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
