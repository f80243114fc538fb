//! The response that is being sent to the client.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::stream;
use tokio::sync::mpsc;
use windlass_core::Clock;
use windlass_wire::{ModelError, ModelEvent, ResponseBuilder, ResponseWriter};

use crate::{AgentApiLimits, errors};

/// The size from which a write gets no further event.
const MAX_WRITE_BYTES: usize = 16 << 10;

/// The events of a response, received from its job.
#[derive(Debug)]
pub(crate) struct EventResponse {
    events: mpsc::Receiver<ModelEvent>,
    clock: Arc<dyn Clock>,
    writer: ResponseWriter,
}

impl EventResponse {
    pub(crate) fn new(
        events: mpsc::Receiver<ModelEvent>,
        clock: Arc<dyn Clock>,
        writer: ResponseWriter,
    ) -> Self {
        Self {
            events,
            clock,
            writer,
        }
    }

    /// Waits for the complete response.
    pub(crate) async fn into_response(mut self) -> Result<Response, ModelError> {
        let mut builder = ResponseBuilder::default();
        loop {
            let event = self.next().await;
            builder.push(&event)?;
            if event.is_terminal() {
                let body = Body::from(self.writer.write_body(builder.response()));
                return Ok(self.writer.json_response(body));
            }
        }
    }

    /// Starts a streamed response. An error before the first chunk gets its own status, unless it takes too
    /// long: some clients and proxies disconnect from a server that sends nothing.
    pub(crate) async fn streamed(mut self, limits: AgentApiLimits) -> Result<Response, ModelError> {
        let mut early = VecDeque::new();
        let mut hold = self.clock.sleep(limits.hold);
        loop {
            let event = tokio::select! {
                event = self.next() => event,
                () = &mut hold => break,
            };
            if let ModelEvent::Error(error) = event {
                return Err(error);
            }
            let is_content = !matches!(event, ModelEvent::Start { .. });
            early.push_back(event);
            if is_content {
                break;
            }
        }
        let head = self.writer.stream_response(Body::empty());
        let chunks = StreamBody {
            response: self,
            early,
            quiet: limits.quiet,
            ended: false,
        };
        let body = Body::from_stream(stream::unfold(chunks, StreamBody::next));
        Ok(head.map(|_| body))
    }

    /// Returns the next event. A job that ends without a terminal event has failed.
    async fn next(&mut self) -> ModelEvent {
        let event = self.events.recv().await;
        event.unwrap_or_else(|| {
            let message = "the response ended early".to_owned();
            ModelEvent::Error(errors::upstream(message))
        })
    }
}

/// The body of a streamed response.
struct StreamBody {
    response: EventResponse,
    early: VecDeque<ModelEvent>,
    quiet: Duration,
    ended: bool,
}

impl StreamBody {
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        while !self.ended {
            let mut bytes = match self.queued_event() {
                Some(event) => self.write(&event),
                None => self.wait_and_write().await,
            };
            // Events that are already here are sent in one write.
            while bytes.len() < MAX_WRITE_BYTES
                && !self.ended
                && let Some(event) = self.queued_event()
            {
                bytes.append(&mut self.write(&event));
            }
            if !bytes.is_empty() {
                return Some((Ok(bytes.into()), self));
            }
        }
        None
    }

    fn queued_event(&mut self) -> Option<ModelEvent> {
        let early = self.early.pop_front();
        early.or_else(|| self.response.events.try_recv().ok())
    }

    fn write(&mut self, event: &ModelEvent) -> Vec<u8> {
        self.ended = event.is_terminal();
        self.response.writer.write_event(event)
    }

    /// Writes the next event, or a keep-alive after the idle time.
    async fn wait_and_write(&mut self) -> Vec<u8> {
        let quiet = self.response.clock.sleep(self.quiet);
        let event = tokio::select! {
            event = self.response.next() => event,
            () = quiet => return self.response.writer.keep_alive(),
        };
        self.write(&event)
    }
}
