//! Responses of a model that pass to the client as they are.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream;
use futures::{FutureExt, StreamExt};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tracing::Instrument as _;
use windlass_agents::model::{RelayCall, RelayedBody};
use windlass_core::{TraceCollector, TraceError};
use windlass_wire::{Dialect, ErrorKind, ModelError, ModelEvent, ResponseWriter};

use crate::answer::log_end;
use crate::errors;
use crate::job::{client_gone, trace_error};
use crate::state::{ActiveRequest, ApiState};
use crate::trace::RequestTrace;

/// A request that is relayed: what it needs until its trace is saved.
pub(crate) struct RelayedRequest {
    pub(crate) id: String,
    pub(crate) agent: String,
    /// The requested model.
    pub(crate) model: String,
    pub(crate) dialect: Dialect,
    pub(crate) state: Arc<ApiState>,
    pub(crate) active: ActiveRequest,
    pub(crate) permit: OwnedSemaphorePermit,
    /// Names the request in the log.
    pub(crate) span: tracing::Span,
    pub(crate) trace: RequestTrace,
    pub(crate) nodes: TraceCollector,
    pub(crate) writer: ResponseWriter,
    /// How long the response may take.
    pub(crate) time_limit: Duration,
}

impl RelayedRequest {
    /// Waits for the beginning of the response. A stream starts after some time without it, with keep-alives: some clients
    /// and proxies disconnect from a server that sends nothing.
    pub(crate) async fn respond(
        self,
        call: RelayCall,
        streams: bool,
    ) -> Result<Response, ModelError> {
        let (head, hold) = if streams {
            let head = self.writer.stream_response(());
            (head, self.state.clock.sleep(self.state.limits.hold))
        } else {
            let never = std::future::pending().boxed();
            (self.writer.json_response(()), never)
        };
        let mut body = RelayBody::new(self, call);
        let first = tokio::select! {
            biased;
            first = body.next_bytes() => first.unwrap_or_else(|| {
                Err(errors::upstream("the response is empty".to_owned()))
            }),
            () = hold => Ok(Bytes::new()),
        };
        let first = first.inspect_err(|error| body.finish(Some(trace_error(error))))?;
        if !streams {
            body.finish(None);
            return Ok(head.map(|()| Body::from(first)));
        }
        let first = stream::iter((!first.is_empty()).then_some(Ok(first)));
        let body = first.chain(stream::unfold(body, RelayBody::next));
        Ok(head.map(|()| Body::from_stream(body)))
    }

    /// Finishes the trace and saves it, after the response.
    fn finish(mut self, error: Option<TraceError>) {
        let span = self.span.clone();
        let entered = span.enter();
        let steps = self.nodes.take();
        let error = error.or_else(|| steps.iter().find_map(|step| step.error.clone()));
        self.trace.add_children(steps);
        let root = self.trace.finish(error);
        log_end(&self.id, &self.agent, &self.model, self.dialect, &root);
        drop(self.permit);
        let (state, active) = (self.state, self.active);
        // Without a runtime the process is about to end.
        if let Ok(runtime) = Handle::try_current() {
            let saved = async move {
                state.traces.save(self.id, root).await;
                drop(active);
            };
            runtime.spawn(saved.in_current_span());
        }
        drop(entered);
    }
}

/// Where the bytes of a response come from.
enum RelaySource {
    Waiting(RelayCall),
    Open(RelayedBody),
    Ended,
}

impl RelaySource {
    async fn next(&mut self) -> Option<Result<Bytes, ModelError>> {
        loop {
            match self {
                Self::Waiting(call) => match call.as_mut().await {
                    Ok(body) => *self = Self::Open(body),
                    Err(error) => {
                        *self = Self::Ended;
                        return Some(Err(error));
                    }
                },
                Self::Open(body) => return body.next().await,
                Self::Ended => return None,
            }
        }
    }
}

/// Why a response is ended early.
enum RelayStop {
    Failed(ModelError),
    TimeLimit,
    ShuttingDown,
}

/// The body of a relayed response. If it is dropped before its end, the client has disconnected.
struct RelayBody {
    source: RelaySource,
    deadline: BoxFuture<'static, ()>,
    stopped: BoxFuture<'static, ()>,
    /// Wakes the body when nothing may have been sent for a while. One timer for many parts costs less than one for each.
    /// `None` before the first part that is waited for.
    quiet: Option<BoxFuture<'static, ()>>,
    /// When the last part was sent.
    last_sent: Duration,
    /// `None` after the end.
    request: Option<RelayedRequest>,
}

impl RelayBody {
    fn new(request: RelayedRequest, call: RelayCall) -> Self {
        Self {
            source: RelaySource::Waiting(call),
            deadline: request.state.clock.sleep(request.time_limit),
            stopped: request.state.stopped.clone().cancelled_owned().boxed(),
            quiet: None,
            last_sent: request.state.clock.elapsed(),
            request: Some(request),
        }
    }

    /// Returns the next bytes; `None` at the end. The trace is finished by the caller.
    async fn next_bytes(&mut self) -> Option<Result<Bytes, ModelError>> {
        self.request.as_ref()?;
        let stop = tokio::select! {
            biased;
            item = self.source.next() => match item? {
                Ok(bytes) => return Some(Ok(bytes)),
                Err(error) => RelayStop::Failed(error),
            },
            () = &mut self.deadline => RelayStop::TimeLimit,
            () = &mut self.stopped => RelayStop::ShuttingDown,
        };
        let request = self.request.as_ref()?;
        Some(Err(match stop {
            RelayStop::Failed(error) => errors::from_model(&request.agent, error),
            RelayStop::TimeLimit => {
                let seconds = request.time_limit.as_secs_f64();
                let agent = &request.agent;
                errors::timeout(format!("{agent} exceeded its time limit of {seconds} s"))
            }
            RelayStop::ShuttingDown => {
                ModelError::new(ErrorKind::Overloaded, "the server is shutting down")
            }
        }))
    }

    /// Returns the next part of a streamed body.
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        let item = self.next_or_quiet().await;
        self.last_sent = self.request.as_ref()?.state.clock.elapsed();
        let request = self.request.as_mut()?;
        let bytes = match item {
            Some(Ok(bytes)) if bytes.is_empty() => request.writer.keep_alive().into(),
            Some(Ok(bytes)) => bytes,
            Some(Err(error)) => {
                let bytes = request
                    .writer
                    .write_event(&ModelEvent::Error(error.clone()));
                self.finish(Some(trace_error(&error)));
                bytes.into()
            }
            None => {
                self.finish(None);
                return None;
            }
        };
        Some((Ok(bytes), self))
    }

    /// Returns the next bytes, or none after some time without them.
    async fn next_or_quiet(&mut self) -> Option<Result<Bytes, ModelError>> {
        let state = Arc::clone(&self.request.as_ref()?.state);
        let limit = state.limits.quiet;
        let rest_since = |sent| limit.saturating_sub(state.clock.elapsed().saturating_sub(sent));
        let quiet = self.quiet.take();
        let mut quiet = quiet.unwrap_or_else(|| state.clock.sleep(rest_since(self.last_sent)));
        let item = loop {
            tokio::select! {
                biased;
                item = self.next_bytes() => break item,
                () = &mut quiet => {}
            }
            let rest = rest_since(self.last_sent);
            quiet = state.clock.sleep(if rest.is_zero() { limit } else { rest });
            if rest.is_zero() {
                break Some(Ok(Bytes::new()));
            }
        };
        self.quiet = Some(quiet);
        item
    }

    /// Saves the trace, with this error or that of the model.
    fn finish(&mut self, error: Option<TraceError>) {
        let Some(request) = self.request.take() else {
            return;
        };
        // The step of the model ends with its response.
        self.source = RelaySource::Ended;
        request.finish(error);
    }
}

impl Drop for RelayBody {
    fn drop(&mut self) {
        if let Some(request) = &self.request {
            let error = client_gone(&request.id);
            self.finish(Some(error));
        }
    }
}
