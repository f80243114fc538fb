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
use windlass_wire::{Fold, ModelError, ModelEvent};

use super::{FrontLimits, refusal};
use crate::scribe::Scribe;

/// The events of an answer, as they come from its job.
#[derive(Debug)]
pub(super) struct Answer {
    events: mpsc::Receiver<ModelEvent>,
    clock: Arc<dyn Clock>,
    scribe: Scribe,
}

impl Answer {
    pub(super) fn new(
        events: mpsc::Receiver<ModelEvent>,
        clock: Arc<dyn Clock>,
        scribe: Scribe,
    ) -> Self {
        Self {
            events,
            clock,
            scribe,
        }
    }

    /// The whole answer, when it is there.
    pub(super) async fn whole(mut self) -> Result<Response, ModelError> {
        let mut fold = Fold::default();
        loop {
            let event = self.next().await;
            fold.push(&event)?;
            if event.is_last() {
                let body = Body::from(self.scribe.whole(fold.response()));
                return Ok(self.scribe.at_once(body));
            }
        }
    }

    /// The answer in pieces. What fails before the first of them is told with a status of its own, as long as that does
    /// not take too long: some clients and the proxies between give up on a server that says nothing.
    pub(super) async fn streamed(mut self, limits: FrontLimits) -> Result<Response, ModelError> {
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
        let head = self.scribe.streamed(Body::empty());
        let pieces = Pieces {
            answer: self,
            early,
            quiet: limits.quiet,
            over: false,
        };
        let body = Body::from_stream(stream::unfold(pieces, Pieces::next));
        Ok(head.map(|_| body))
    }

    /// The next event; a job that ends without a last one has failed.
    async fn next(&mut self) -> ModelEvent {
        let event = self.events.recv().await;
        event.unwrap_or_else(|| {
            let message = "the answer broke off".to_owned();
            ModelEvent::Error(refusal::upstream(message))
        })
    }
}

/// A body in the making.
struct Pieces {
    answer: Answer,
    early: VecDeque<ModelEvent>,
    quiet: Duration,
    over: bool,
}

impl Pieces {
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        while !self.over {
            let event = match self.early.pop_front() {
                Some(event) => Some(event),
                None => self.heard().await,
            };
            let bytes = match event {
                Some(event) => {
                    self.over = event.is_last();
                    self.answer.scribe.say(&event)
                }
                None => self.answer.scribe.alive(),
            };
            if let Some(bytes) = bytes {
                return Some((Ok(bytes), self));
            }
        }
        None
    }

    /// The next event, or nothing where it is quiet for too long.
    async fn heard(&mut self) -> Option<ModelEvent> {
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
