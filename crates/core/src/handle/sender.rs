//! The sending end of a turn.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::sequence::EventSequencer;
use super::truncate;
use super::turn_end::TurnEnd;
use crate::mask::MaskedStream;
use crate::{BackendEvent, Clock, Masker, Timestamp};

/// The maximum number of events that are ready and sent together.
const MAX_BATCH: usize = 32;

/// An event for the receiver, which knows the session and the turn.
#[derive(Debug)]
pub(super) struct SentEvent {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) event: BackendEvent,
}

/// Masks, normalizes, numbers, timestamps and counts events, then sends them.
pub(super) struct EventSender {
    masked: MaskedStream,
    sequencer: EventSequencer,
    clock: Arc<dyn Clock>,
    seq: u64,
    bytes: u64,
    queue: VecDeque<BackendEvent>,
    sender: mpsc::Sender<SentEvent>,
}

impl EventSender {
    pub(super) fn new(
        clock: Arc<dyn Clock>,
        event_bytes: usize,
        masker: Masker,
        sender: mpsc::Sender<SentEvent>,
    ) -> Self {
        Self {
            masked: MaskedStream::new(masker),
            sequencer: EventSequencer::new(event_bytes, Arc::clone(&clock)),
            clock,
            seq: 0,
            bytes: 0,
            queue: VecDeque::new(),
            sender,
        }
    }

    /// Returns the number of events sent.
    pub(super) fn sent_count(&self) -> u64 {
        self.seq
    }

    /// Returns the channel, so that the caller can detect a dropped receiver.
    pub(super) fn channel(&self) -> mpsc::Sender<SentEvent> {
        self.sender.clone()
    }

    /// Queues an event; [`flush`](Self::flush) sends it.
    pub(super) fn push(&mut self, event: BackendEvent, turn_bytes: u64) -> Result<(), TurnEnd> {
        let first = self.queue.len();
        self.enqueue(event);
        let size: usize = self.queue.range(first..).map(truncate::approx_size).sum();
        self.bytes += size as u64;
        if self.bytes > turn_bytes {
            self.queue.truncate(first);
            return Err(TurnEnd::OutputLimit);
        }
        Ok(())
    }

    /// Masks and orders an event, and adds it to the queue.
    fn enqueue(&mut self, event: BackendEvent) {
        let (sequencer, queue) = (&mut self.sequencer, &mut self.queue);
        self.masked
            .push(event, |event| sequencer.push(event, queue));
    }

    /// Returns `true` if another event can be queued and sent without waiting for the reader.
    pub(super) fn has_room(&self) -> bool {
        self.queue.len() < self.sender.capacity().min(MAX_BATCH)
    }

    /// Sends the queued events. Cancel-safe: events not yet sent stay in the queue.
    pub(super) async fn flush(&mut self) -> Result<(), TurnEnd> {
        while !self.queue.is_empty() {
            let count = self.sender.capacity().clamp(1, self.queue.len());
            let Ok(permits) = self.sender.reserve_many(count).await else {
                return Err(TurnEnd::ReceiverDropped);
            };
            let at = self.clock.now();
            for (permit, event) in permits.zip(self.queue.drain(..count)) {
                self.seq += 1;
                let seq = self.seq;
                permit.send(SentEvent { seq, at, event });
            }
        }
        Ok(())
    }

    /// Sends the last events: the ends of open tools, then the terminal event.
    pub(super) async fn close(&mut self, terminal: BackendEvent) {
        self.enqueue(terminal);
        if self.flush().await.is_err() {
            tracing::debug!("the receiver was dropped before the end of the turn");
        }
    }
}
