//! Where events leave a turn.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::sequence::EventSequencer;
use super::truncate;
use super::turn::{TurnEnd, TurnTask};
use crate::{BackendEvent, Clock, Envelope, SessionId, TurnId};

/// Brings events into good form, numbers, dates and counts them.
pub(super) struct EventSender {
    grammar: EventSequencer,
    clock: Arc<dyn Clock>,
    session: SessionId,
    turn: TurnId,
    seq: u64,
    bytes: u64,
    queue: VecDeque<BackendEvent>,
    sender: mpsc::Sender<Envelope>,
}

impl EventSender {
    pub(super) fn new(turn: &TurnTask, sender: mpsc::Sender<Envelope>) -> Self {
        Self {
            grammar: EventSequencer::new(turn.limits.event_bytes),
            clock: Arc::clone(&turn.clock),
            session: turn.session.clone(),
            turn: turn.id,
            seq: 0,
            bytes: 0,
            queue: VecDeque::new(),
            sender,
        }
    }

    /// How many events left.
    pub(super) fn sent_count(&self) -> u64 {
        self.seq
    }

    /// The way out itself, to notice when nobody is at the other end.
    pub(super) fn channel(&self) -> mpsc::Sender<Envelope> {
        self.sender.clone()
    }

    /// Takes an event in; [`flush`](Self::flush) sends it out.
    pub(super) fn push(&mut self, emitted: BackendEvent, turn_bytes: u64) -> Result<(), TurnEnd> {
        let first = self.queue.len();
        self.grammar
            .push(emitted, self.clock.elapsed(), &mut self.queue);
        let weight: usize = self.queue.range(first..).map(truncate::approx_size).sum();
        self.bytes += weight as u64;
        if self.bytes > turn_bytes {
            self.queue.truncate(first);
            return Err(TurnEnd::OutputLimit);
        }
        Ok(())
    }

    /// Sends what is ready. Nothing is lost when it is interrupted: the rest stays in the queue.
    pub(super) async fn flush(&mut self) -> Result<(), TurnEnd> {
        while !self.queue.is_empty() {
            let Ok(place) = self.sender.reserve().await else {
                return Err(TurnEnd::ReceiverDropped);
            };
            let Some(emitted) = self.queue.pop_front() else {
                break;
            };
            self.seq += 1;
            place.send(Envelope {
                seq: self.seq,
                at: self.clock.now(),
                session: self.session.clone(),
                turn: self.turn,
                event: emitted.event,
                raw: emitted.raw,
            });
        }
        Ok(())
    }

    /// Sends the last events: the ends of the tools still open, then the terminal one.
    pub(super) async fn close(&mut self, terminal: BackendEvent) {
        self.grammar
            .push(terminal, self.clock.elapsed(), &mut self.queue);
        if self.flush().await.is_err() {
            tracing::debug!("nobody read the end of the turn");
        }
    }
}
