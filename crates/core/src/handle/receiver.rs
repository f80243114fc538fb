//! The receiving end of a turn.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::{Stream, StreamExt};
use tokio::sync::mpsc;

use super::sender::SentEvent;
use crate::limits::EVENT_QUEUE;
use crate::{AgentEvent, Clock, Envelope, Error, ErrorCode, SessionId, TurnId};

/// The events of one turn, in order. The last one is terminal. Dropping the receiver stops the turn.
#[derive(Debug)]
pub struct EventReceiver {
    receiver: mpsc::Receiver<SentEvent>,
    /// Events that arrived together, the last one first: so a turn that waits is woken once for all of them.
    received: Vec<SentEvent>,
    clock: Arc<dyn Clock>,
    session: SessionId,
    turn: TurnId,
    seen: u64,
    ended: bool,
}

impl EventReceiver {
    pub(super) fn new(
        receiver: mpsc::Receiver<SentEvent>,
        clock: Arc<dyn Clock>,
        session: SessionId,
        turn: TurnId,
    ) -> Self {
        Self {
            receiver,
            received: Vec::new(),
            clock,
            session,
            turn,
            seen: 0,
            ended: false,
        }
    }

    /// Returns the next event, or `None` after the terminal event.
    pub async fn recv(&mut self) -> Option<AgentEvent> {
        let sent = poll_fn(|cx| self.poll_sent(cx)).await?;
        Some(sent.event.event)
    }

    /// Returns the next event with its number, time and source line.
    pub async fn recv_envelope(&mut self) -> Option<Envelope> {
        self.next().await
    }

    /// Returns all events until the end of the turn.
    pub async fn collect(mut self) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.recv().await {
            events.push(event);
        }
        events
    }

    /// Returns the id of the turn.
    pub fn turn(&self) -> TurnId {
        self.turn
    }

    fn poll_sent(&mut self, cx: &mut Context<'_>) -> Poll<Option<SentEvent>> {
        if self.ended {
            return Poll::Ready(None);
        }
        if self.received.is_empty() {
            ready!(
                self.receiver
                    .poll_recv_many(cx, &mut self.received, EVENT_QUEUE)
            );
            self.received.reverse();
        }
        let sent = self.received.pop();
        let sent = sent.unwrap_or_else(|| self.orphaned_event());
        self.seen = sent.seq;
        self.ended = sent.event.event.is_terminal();
        Poll::Ready(Some(sent))
    }

    /// Creates the terminal event for a turn with a dropped task, as happens when a runtime shuts down.
    fn orphaned_event(&self) -> SentEvent {
        let error = Error::agent(
            ErrorCode::SessionOrphaned,
            "the turn was abandoned: its runtime is shutting down",
        );
        SentEvent {
            seq: self.seen + 1,
            at: self.clock.now(),
            event: AgentEvent::from(error).into(),
        }
    }
}

impl Stream for EventReceiver {
    type Item = Envelope;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Envelope>> {
        let sent = ready!(self.poll_sent(cx));
        Poll::Ready(sent.map(|sent| Envelope {
            seq: sent.seq,
            at: sent.at,
            session: self.session.clone(),
            turn: self.turn,
            event: sent.event.event,
            raw: sent.event.raw,
        }))
    }
}
