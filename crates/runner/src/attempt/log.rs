//! Carries an attempt's messages to the store in batches, beside the work.
//!
//! Nothing is lost: when the store is slow the queue fills, and then the work waits, as it must.

use tokio::sync::{mpsc, oneshot};
use windlass_core::task::{AttemptRef, Broadcast};

use super::{AttemptError, retry_transient};
use crate::Runner;

/// How many messages may wait.
const QUEUE_CAPACITY: usize = 512;
/// How many are written at once.
const MAX_BATCH: usize = 64;

enum LogEntry {
    Message(Box<Broadcast>),
    Flush(oneshot::Sender<()>),
}

/// The writing end.
pub(crate) struct EventLog {
    queue: mpsc::Sender<LogEntry>,
}

/// The end that writes to the store.
pub(super) struct EventLogWriter {
    queue: mpsc::Receiver<LogEntry>,
}

impl EventLog {
    pub(super) fn new() -> (Self, EventLogWriter) {
        let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
        (Self { queue: sender }, EventLogWriter { queue: receiver })
    }

    /// Hands a message over. When the carrier has failed the attempt is ending, and there is nobody to tell.
    pub(crate) async fn write(&self, message: Broadcast) {
        let _ = self.queue.send(LogEntry::Message(Box::new(message))).await;
    }

    /// Comes back when all that was handed over is in the store.
    pub(super) async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if self.queue.send(LogEntry::Flush(done)).await.is_ok() {
            let _ = written.await;
        }
    }
}

impl EventLogWriter {
    /// Writes until the log is gone, or the store will not have it.
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
