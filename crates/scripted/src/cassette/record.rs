//! Recording of requests and their responses.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::Stream;
use parking_lot::Mutex;
use windlass_cassette::{
    Cassette, CassetteError, Entry, Exchange, ExchangeBuilder, FILE_BYTES, Normalizer,
    Substitutions,
};
use windlass_core::Clock;
use windlass_wire::Route;

use crate::limits::BODY_BYTES;
use crate::workdir::AgentWorkdir;

/// Records exchanges as they pass through the server.
#[derive(Debug, Clone)]
pub(crate) struct ExchangeRecorder {
    clock: Arc<dyn Clock>,
    recorded: Arc<Mutex<RecordedExchanges>>,
}

#[derive(Debug, Default)]
struct RecordedExchanges {
    /// The exchanges in the order of the requests. A response that is still active has its slot reserved.
    exchanges: Vec<Option<Exchange>>,
    bytes: usize,
}

impl ExchangeRecorder {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            recorded: Arc::default(),
        }
    }

    /// Returns all completed exchanges as a cassette, without machine-specific values.
    pub(crate) fn cassette(&self, substitutions: &Substitutions) -> Result<String, CassetteError> {
        let exchanges: Vec<Exchange> = self
            .recorded
            .lock()
            .exchanges
            .iter()
            .flatten()
            .cloned()
            .collect();
        let substitutions = match exchanges.iter().find_map(working_dir) {
            Some(dir) => substitutions.with_workspace(dir),
            None => substitutions.clone(),
        };
        let entries = exchanges.into_iter().map(Entry::Exchange).collect();
        let mut cassette = Cassette { entries };
        Normalizer::new(&substitutions).normalize_cassette(&mut cassette);
        cassette.to_jsonl()
    }

    /// Reserves a slot, unless the size limit is reached.
    fn reserve_slot(&self, bytes: usize) -> Option<usize> {
        let mut recorded = self.recorded.lock();
        recorded.bytes += bytes;
        if recorded.bytes > FILE_BYTES {
            return None;
        }
        recorded.exchanges.push(None);
        Some(recorded.exchanges.len() - 1)
    }
}

/// Returns the agent's working directory, if the request contains it.
fn working_dir(exchange: &Exchange) -> Option<String> {
    let body = exchange.body.to_string();
    AgentWorkdir::from_raw(&exchange.path, body.as_bytes())
        .dir()
        .map(str::to_owned)
}

/// Forwards a request, and records it with its response.
pub(crate) async fn record(
    State(recorder): State<ExchangeRecorder>,
    request: Request,
    next: Next,
) -> Response {
    let started = recorder.clock.elapsed();
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, BODY_BYTES).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let target = head
        .uri
        .path_and_query()
        .map_or("/", |target| target.as_str())
        .to_owned();
    let dialect = Route::parse(&target).map_or("", |route| route.dialect.as_str());
    let mut exchange = ExchangeBuilder::new(dialect, head.method.as_str(), &target, &body);
    let slot = recorder.reserve_slot(body.len());
    let response = next.run(Request::from_parts(head, Body::from(body))).await;
    let Some(slot) = slot else {
        return response;
    };
    let (head, body) = response.into_parts();
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| (name.as_str(), value.as_bytes()));
    exchange.start(head.status.as_u16(), headers);
    let recorded_body = RecordedBody {
        body: body.into_data_stream(),
        exchange: Some(exchange),
        slot,
        started,
        recorder,
    };
    Response::from_parts(head, Body::from_stream(recorded_body))
}

/// A response body that is recorded while it is sent.
struct RecordedBody {
    body: BodyDataStream,
    /// The exchange, until it is stored.
    exchange: Option<ExchangeBuilder>,
    slot: usize,
    started: Duration,
    recorder: ExchangeRecorder,
}

impl RecordedBody {
    fn offset(&self) -> Duration {
        self.recorder.clock.elapsed().saturating_sub(self.started)
    }

    fn store_exchange(&mut self, cut: Option<Duration>) {
        if let Some(exchange) = self.exchange.take() {
            self.recorder.recorded.lock().exchanges[self.slot] = Some(exchange.finish(cut));
        }
    }
}

impl Stream for RecordedBody {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(Pin::new(&mut self.body).poll_next(cx));
        match &next {
            Some(Ok(bytes)) => {
                let at = self.offset();
                self.recorder.recorded.lock().bytes += bytes.len();
                if let Some(exchange) = &mut self.exchange {
                    exchange.push(at, bytes);
                }
            }
            Some(Err(_)) => {
                let cut = Some(self.offset());
                self.store_exchange(cut);
            }
            None => self.store_exchange(None),
        }
        Poll::Ready(next)
    }
}

impl Drop for RecordedBody {
    /// Stores a truncated response: the client disconnected, or the server stopped.
    fn drop(&mut self) {
        let cut = Some(self.offset());
        self.store_exchange(cut);
    }
}
