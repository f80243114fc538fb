//! Sends broadcasts to a listener without making the sender wait.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use windlass_core::Clock;
use windlass_tasks::Broadcast;

/// How long a listener may take for one message.
pub const LISTENER_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of messages that wait for a slow listener.
const QUEUE_CAPACITY: usize = 1024;

/// Receives broadcasts, e.g. to forward them to WebSockets or to a terminal.
pub trait Listener: Send + Sync {
    /// Handles one message. A message that is not handled within [`LISTENER_TIMEOUT`] is dropped. Returns
    /// `false` if the message was not handled.
    fn on_broadcast(&self, message: Broadcast) -> BoxFuture<'_, bool>;
}

impl Listener for mpsc::Sender<Broadcast> {
    fn on_broadcast(&self, message: Broadcast) -> BoxFuture<'_, bool> {
        Box::pin(async move { self.send(message).await.is_ok() })
    }
}

/// The sender side of the bus. Sending never waits: messages for a full queue are dropped and
/// counted.
#[derive(Clone, Default)]
pub struct Bus {
    queue: Option<mpsc::Sender<Broadcast>>,
    dropped: Arc<AtomicU64>,
}

impl Bus {
    /// Creates a bus without a listener.
    pub fn disabled() -> Self {
        Self::default()
    }

    /// Creates a bus to this listener. Must be called inside a runtime; its task ends with the last clone of
    /// the bus.
    pub fn new(listener: Arc<dyn Listener>, clock: Arc<dyn Clock>) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
        let dropped = Arc::new(AtomicU64::new(0));
        tokio::spawn(forward(receiver, listener, clock, Arc::clone(&dropped)));
        Self {
            queue: Some(sender),
            dropped,
        }
    }

    /// Queues a message for the listener.
    pub fn send(&self, message: Broadcast) {
        if let Some(queue) = &self.queue
            && queue.try_send(message).is_err()
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of messages dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus")
            .field("dropped", &self.dropped())
            .finish_non_exhaustive()
    }
}

async fn forward(
    mut queue: mpsc::Receiver<Broadcast>,
    listener: Arc<dyn Listener>,
    clock: Arc<dyn Clock>,
    dropped: Arc<AtomicU64>,
) {
    while let Some(message) = queue.recv().await {
        let handled = tokio::select! {
            biased;
            handled = listener.on_broadcast(message) => handled,
            () = clock.sleep(LISTENER_TIMEOUT) => false,
        };
        if !handled {
            dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
