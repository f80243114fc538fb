//! The receiving end of a turn.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::{Stream, StreamExt};
use tokio::sync::mpsc;

use crate::{AgentEvent, Clock, Envelope, Error, ErrorCode, SessionId, TurnId};

/// The events of one turn, in order. The last one is terminal. Dropping the receiver stops the turn.
#[derive(Debug)]
pub struct EventReceiver {
    receiver: mpsc::Receiver<Envelope>,
    clock: Arc<dyn Clock>,
    session: SessionId,
    turn: TurnId,
    seen: u64,
    ended: bool,
}

impl EventReceiver {
    pub(super) fn new(
        receiver: mpsc::Receiver<Envelope>,
        clock: Arc<dyn Clock>,
        session: SessionId,
        turn: TurnId,
    ) -> Self {
        Self {
            receiver,
            clock,
            session,
            turn,
            seen: 0,
            ended: false,
        }
    }

    /// Returns the next event, or `None` after the terminal event.
    pub async fn recv(&mut self) -> Option<AgentEvent> {
        self.recv_envelope().await.map(|envelope| envelope.event)
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

    /// Creates the terminal event for a turn with a dropped task, as happens when a runtime shuts down.
    fn orphaned_event(&self) -> Envelope {
        let error = Error::agent(
            ErrorCode::SessionOrphaned,
            "the turn was abandoned: its runtime is shutting down",
        );
        Envelope {
            seq: self.seen + 1,
            at: self.clock.now(),
            session: self.session.clone(),
            turn: self.turn,
            event: error.into(),
            raw: None,
        }
    }
}

impl Stream for EventReceiver {
    type Item = Envelope;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Envelope>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let envelope = ready!(self.receiver.poll_recv(cx)).unwrap_or_else(|| self.orphaned_event());
        self.seen = envelope.seq;
        self.ended = envelope.event.is_terminal();
        Poll::Ready(Some(envelope))
    }
}
