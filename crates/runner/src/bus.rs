//! Tells watchers what happens, and never keeps the work waiting for them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use windlass_core::Clock;
use windlass_core::task::Broadcast;

/// How long a listener may take over one message.
pub const LISTENER_TIMEOUT: Duration = Duration::from_secs(5);

/// How many messages may wait for a slow listener.
const QUEUE_CAPACITY: usize = 1024;

/// Somebody who is told: a hub of WebSockets, a terminal, a test.
pub trait Listener: Send + Sync {
    /// Takes one message. What it does not take within [`PATIENCE`] is dropped; `false` says that it was not taken.
    fn on_broadcast(&self, message: Broadcast) -> BoxFuture<'_, bool>;
}

impl Listener for mpsc::Sender<Broadcast> {
    fn on_broadcast(&self, message: Broadcast) -> BoxFuture<'_, bool> {
        Box::pin(async move { self.send(message).await.is_ok() })
    }
}

/// The way to the listener. Sending never waits: what does not fit is dropped and counted.
#[derive(Clone, Default)]
pub struct Bus {
    queue: Option<mpsc::Sender<Broadcast>>,
    dropped: Arc<AtomicU64>,
}

impl Bus {
    /// A bus that nobody listens to.
    pub fn disabled() -> Self {
        Self::default()
    }

    /// A bus to this listener. Must be called inside a runtime; its task ends with the last clone of the bus.
    pub fn new(listener: Arc<dyn Listener>, clock: Arc<dyn Clock>) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
        let dropped = Arc::new(AtomicU64::new(0));
        tokio::spawn(forward(receiver, listener, clock, Arc::clone(&dropped)));
        Self {
            queue: Some(sender),
            dropped,
        }
    }

    /// Tells the listener, in its own time.
    pub fn send(&self, message: Broadcast) {
        if let Some(queue) = &self.queue
            && queue.try_send(message).is_err()
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many messages were dropped so far.
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
        let heard = tokio::select! {
            biased;
            heard = listener.on_broadcast(message) => heard,
            () = clock.sleep(LISTENER_TIMEOUT) => false,
        };
        if !heard {
            dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
