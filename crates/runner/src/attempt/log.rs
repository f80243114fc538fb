//! Carries an attempt's messages to the store in batches, beside the work.
//!
//! Nothing is lost: when the store is slow the queue fills, and then the work waits, as it must.

use tokio::sync::{mpsc, oneshot};
use windlass_core::task::{AttemptRef, Broadcast};

use super::{Fault, patiently};
use crate::Runner;

/// How many messages may wait.
const QUEUE: usize = 512;
/// How many are written at once.
const BATCH: usize = 64;

enum Entry {
    Message(Box<Broadcast>),
    Flush(oneshot::Sender<()>),
}

/// The writing end.
pub(crate) struct Log {
    queue: mpsc::Sender<Entry>,
}

/// The end that writes to the store.
pub(super) struct Carrier {
    queue: mpsc::Receiver<Entry>,
}

impl Log {
    pub(super) fn new() -> (Self, Carrier) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (Self { queue: sender }, Carrier { queue: receiver })
    }

    /// Hands a message over. When the carrier has failed the attempt is ending, and there is nobody to tell.
    pub(crate) async fn write(&self, message: Broadcast) {
        let _ = self.queue.send(Entry::Message(Box::new(message))).await;
    }

    /// Comes back when all that was handed over is in the store.
    pub(super) async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if self.queue.send(Entry::Flush(done)).await.is_ok() {
            let _ = written.await;
        }
    }
}

impl Carrier {
    /// Writes until the log is gone, or the store will not have it.
    pub(super) async fn carry(mut self, runner: &Runner, at: AttemptRef) -> Fault {
        let mut entries = Vec::with_capacity(BATCH);
        while self.queue.recv_many(&mut entries, BATCH).await > 0 {
            let mut messages = Vec::with_capacity(entries.len());
            let mut waiting = Vec::new();
            for entry in entries.drain(..) {
                match entry {
                    Entry::Message(message) => messages.push(*message),
                    Entry::Flush(done) => waiting.push(done),
                }
            }
            if !messages.is_empty() {
                let write = || runner.store.append(Some(at), messages.clone());
                if let Err(error) = patiently(&*runner.clock, write).await {
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
