//! The answer on its way to the client.

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
use windlass_wire::{ModelError, ModelEvent, ResponseBuilder};

use super::{AgentApiLimits, errors};
use crate::response_writer::ResponseWriter;

/// The events of an answer, as they come from its job.
#[derive(Debug)]
pub(super) struct EventResponse {
    events: mpsc::Receiver<ModelEvent>,
    clock: Arc<dyn Clock>,
    scribe: ResponseWriter,
}

impl EventResponse {
    pub(super) fn new(
        events: mpsc::Receiver<ModelEvent>,
        clock: Arc<dyn Clock>,
        scribe: ResponseWriter,
    ) -> Self {
        Self {
            events,
            clock,
            scribe,
        }
    }

    /// The whole answer, when it is there.
    pub(super) async fn into_response(mut self) -> Result<Response, ModelError> {
        let mut fold = ResponseBuilder::default();
        loop {
            let event = self.next().await;
            fold.push(&event)?;
            if event.is_terminal() {
                let body = Body::from(self.scribe.write_body(fold.response()));
                return Ok(self.scribe.json_response(body));
            }
        }
    }

    /// The answer in pieces. What fails before the first of them is told with a status of its own, as long as that does
    /// not take too long: some clients and the proxies between give up on a server that says nothing.
    pub(super) async fn streamed(mut self, limits: AgentApiLimits) -> Result<Response, ModelError> {
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
            let begins = !matches!(event, ModelEvent::Start { .. });
            early.push_back(event);
            if begins {
                break;
            }
        }
        let head = self.scribe.stream_response(Body::empty());
        let pieces = StreamBody {
            answer: self,
            early,
            quiet: limits.quiet,
            over: false,
        };
        let body = Body::from_stream(stream::unfold(pieces, StreamBody::next));
        Ok(head.map(|_| body))
    }

    /// The next event; a job that ends without a last one has failed.
    async fn next(&mut self) -> ModelEvent {
        let event = self.events.recv().await;
        event.unwrap_or_else(|| {
            let message = "the answer broke off".to_owned();
            ModelEvent::Error(errors::upstream(message))
        })
    }
}

/// A body in the making.
struct StreamBody {
    answer: EventResponse,
    early: VecDeque<ModelEvent>,
    quiet: Duration,
    over: bool,
}

impl StreamBody {
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        while !self.over {
            let event = match self.early.pop_front() {
                Some(event) => Some(event),
                None => self.on_event().await,
            };
            let bytes = match event {
                Some(event) => {
                    self.over = event.is_terminal();
                    self.answer.scribe.write_event(&event)
                }
                None => self.answer.scribe.keep_alive(),
            };
            if let Some(bytes) = bytes {
                return Some((Ok(bytes), self));
            }
        }
        None
    }

    /// The next event, or nothing where it is quiet for too long.
    async fn on_event(&mut self) -> Option<ModelEvent> {
        // Most events are there already, and need no timer.
        if let Ok(event) = self.answer.events.try_recv() {
            return Some(event);
        }
        let quiet = self.answer.clock.sleep(self.quiet);
        tokio::select! {
            event = self.answer.next() => Some(event),
            () = quiet => None,
        }
    }
}
