//! Writes an attempt's events to the store in batches, concurrently with the work.
//!
//! No event is lost: if the store is slow, the queue fills and the work waits.

use tokio::sync::{mpsc, oneshot};
use windlass_tasks::{AttemptRef, Broadcast};

use super::{AttemptError, retry_transient};
use crate::Runner;

/// Maximum number of queued messages.
const QUEUE_CAPACITY: usize = 512;
/// Maximum number of messages per write.
const MAX_BATCH: usize = 64;

enum LogEntry {
    Message(Box<Broadcast>),
    Flush(oneshot::Sender<()>),
}

/// The sender side of the log of an attempt.
pub(crate) struct AttemptLog {
    queue: mpsc::Sender<LogEntry>,
}

/// The receiver side, which writes to the store.
pub(super) struct AttemptLogWriter {
    queue: mpsc::Receiver<LogEntry>,
}

impl AttemptLog {
    pub(super) fn new() -> (Self, AttemptLogWriter) {
        let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
        (Self { queue: sender }, AttemptLogWriter { queue: receiver })
    }

    /// Queues a message. If the writer has failed, the attempt is ending and the message is dropped.
    pub(crate) async fn write(&self, message: Broadcast) {
        let _ = self.queue.send(LogEntry::Message(Box::new(message))).await;
    }

    /// Waits until all queued messages are in the store.
    pub(super) async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if self.queue.send(LogEntry::Flush(done)).await.is_ok() {
            let _ = written.await;
        }
    }
}

impl AttemptLogWriter {
    /// Writes messages until the sender side is dropped or the store rejects a write.
    pub(super) async fn run(mut self, runner: &Runner, at: AttemptRef) -> AttemptError {
        let mut entries = Vec::with_capacity(MAX_BATCH);
        while self.queue.recv_many(&mut entries, MAX_BATCH).await > 0 {
            let mut messages = Vec::with_capacity(entries.len());
            let mut waiting = Vec::new();
            for entry in entries.drain(..) {
                match entry {
                    LogEntry::Message(message) => messages.push(*message),
                    LogEntry::Flush(done) => waiting.push(done),
                }
            }
            if !messages.is_empty() {
                let write = || runner.store.append_events(Some(at), messages.clone());
                if let Err(error) = retry_transient(&*runner.clock, write).await {
                    return error.into();
                }
            }
            for done in waiting {
                let _ = done.send(());
            }
        }
        std::future::pending().await
    }
}
