//! Responses that are relayed as the server sends them.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use windlass_core::TurnTrace;
use windlass_wire::{
    Dialect, ModelError, ModelEvent, ModelRequest, OutputFormat, RelayedFrames, ResponseStyle,
    StreamEncoder, StreamRelay, ToolChoice,
};

use super::client::ModelClient;
use super::completion::{CompletionContext, RelayCall, RelayedBody};
use super::counted::CallRecord;
use super::traced::TracedResponse;
use super::{ModelAgent, ToolMode};
use crate::http::ResponseBody;

/// Sends the request and relays the response. Returns the request if the server has another API than its caller, or if the
/// response must be read: for calls in text, and for an answer that a schema restricts.
pub(super) fn relay(
    agent: &ModelAgent,
    mut request: Box<ModelRequest>,
    context: &CompletionContext,
) -> Result<RelayCall, Box<ModelRequest>> {
    let shared = &agent.shared;
    let dialect = shared.client.dialect();
    let may_call = !request.tools.is_empty() && request.tool_choice != Some(ToolChoice::None);
    let is_native = !may_call || shared.fit(None).tool_mode == ToolMode::Native;
    let is_as_sent = request.origin == Some(dialect)
        && is_native
        && matches!(request.output, OutputFormat::Text)
        && (shared.settings.stream || !request.stream);
    let stream_usage = request.stream_usage;
    let frames = StreamRelay::new(dialect, stream_usage);
    let (Some(frames), true, Ok(())) = (frames, is_as_sent, shared.require_key()) else {
        return Err(request);
    };
    agent.prepare(&mut request);
    let trace = TurnTrace::start(&shared.clock, "answer", shared.kind.name());
    let step = TracedResponse::start(trace, &context.nodes, shared.settings.prices());
    let style = ResponseStyle {
        stream_usage,
        ..ResponseStyle::new(dialect, shared.clock.now().0 / 1000)
    };
    let relay = ResponseRelay {
        client: shared.client_for(&context.work),
        step,
        record: CallRecord::default(),
    };
    Ok(Box::pin(async move {
        relay.open(&request, frames, style).await
    }))
}

/// A response that is being relayed.
struct ResponseRelay {
    client: Arc<ModelClient>,
    step: TracedResponse,
    record: CallRecord,
}

/// The beginning of a response.
enum OpenResponse {
    /// One document, whole.
    Document(Bytes),
    Stream(Box<ResponseBody>),
}

impl ResponseRelay {
    async fn open(
        mut self,
        request: &ModelRequest,
        frames: StreamRelay,
        style: ResponseStyle,
    ) -> Result<RelayedBody, ModelError> {
        match self.receive(request, style).await {
            Ok(OpenResponse::Document(bytes)) => Ok(stream::iter([Ok(bytes)]).boxed()),
            Ok(OpenResponse::Stream(body)) => {
                let frames = RelayedStream {
                    relay: self,
                    body: *body,
                    frames: Some(frames),
                };
                Ok(stream::unfold(frames, RelayedStream::next).boxed())
            }
            Err(error) => Err(self.failed(error).await),
        }
    }

    async fn receive(
        &mut self,
        request: &ModelRequest,
        style: ResponseStyle,
    ) -> Result<OpenResponse, ModelError> {
        let dialect = self.client.dialect();
        let body = dialect.render_request(request);
        self.record = self.client.begin(request, &body).await?;
        let body = self.client.send_body(request, body).await?;
        // For Ollama one document is a stream of one frame.
        if request.stream && (!body.is_json() || dialect == Dialect::Ollama) {
            self.record.set_started();
            return Ok(OpenResponse::Stream(Box::new(body)));
        }
        let document = body.read_all().await?;
        let events = dialect.parse_response(&document)?;
        for event in &events {
            self.on_event(event).await;
        }
        if !request.stream {
            let document = self.client.bytes_without_key(document);
            return Ok(OpenResponse::Document(document));
        }
        let mut encoder = StreamEncoder::new(dialect, style);
        let bytes: Vec<u8> = events
            .iter()
            .flat_map(|event| encoder.push(event))
            .collect();
        let bytes = self.client.bytes_without_key(bytes.into());
        Ok(OpenResponse::Document(bytes))
    }

    /// Records an event. A provider may repeat the key in an error.
    async fn on_event(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Error(error) => drop(self.failed(error.clone()).await),
            event => {
                self.record.on_event(event).await;
                self.step.on_event(event);
            }
        }
        if event.is_terminal() {
            self.step.finish();
        }
    }

    /// Records an error, and returns it without the key.
    async fn failed(&mut self, error: ModelError) -> ModelError {
        let error = self.client.without_key(error);
        let event = ModelEvent::Error(error.clone());
        self.record.on_event(&event).await;
        self.step.on_event(&event);
        self.step.finish();
        error
    }
}

/// A streamed response that is being relayed.
struct RelayedStream {
    relay: ResponseRelay,
    body: ResponseBody,
    /// `None` after the end.
    frames: Option<StreamRelay>,
}

impl RelayedStream {
    async fn next(mut self) -> Option<(Result<Bytes, ModelError>, Self)> {
        while let Some(mut frames) = self.frames.take() {
            let received = match self.body.chunk().await {
                Ok(Some(bytes)) => frames.push(&bytes).map(|relayed| {
                    self.frames = Some(frames);
                    (relayed, Ok(()))
                }),
                Ok(None) => Ok(frames.finish()),
                Err(error) => Err(error),
            };
            let (relayed, ended) =
                received.unwrap_or_else(|error| (RelayedFrames::default(), Err(error)));
            for event in &relayed.events {
                self.relay.on_event(event).await;
            }
            if let Err(error) = ended {
                let error = self.relay.failed(error).await;
                return Some((Err(error), self));
            }
            if relayed.events.last().is_some_and(ModelEvent::is_terminal) {
                self.frames = None;
            }
            if !relayed.bytes.is_empty() {
                let bytes = self.relay.client.bytes_without_key(relayed.bytes.into());
                return Some((Ok(bytes), self));
            }
        }
        None
    }
}
