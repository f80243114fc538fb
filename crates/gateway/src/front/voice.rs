//! The way from a job to its client, who may go away or not listen.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use windlass_core::Clock;
use windlass_wire::{ModelError, ModelEvent};

/// How long a client may leave an event lying.
const PATIENCE: Duration = Duration::from_secs(120);

/// Why an answer does not go on.
#[derive(Debug)]
pub(super) enum Halt {
    /// The client went away, or does not listen any more.
    Gone,
    /// The server stops.
    Stopping,
    /// It failed.
    Failed(ModelError),
}

impl From<ModelError> for Halt {
    fn from(error: ModelError) -> Self {
        Self::Failed(error)
    }
}

/// Tells the client what happens.
#[derive(Debug)]
pub(super) struct Voice {
    sender: mpsc::Sender<ModelEvent>,
    clock: Arc<dyn Clock>,
    stopped: CancellationToken,
    /// Set when the client does not listen.
    deaf: CancellationToken,
}

impl Voice {
    pub(super) fn new(
        sender: mpsc::Sender<ModelEvent>,
        clock: Arc<dyn Clock>,
        stopped: CancellationToken,
    ) -> Self {
        Self {
            sender,
            clock,
            stopped,
            deaf: CancellationToken::new(),
        }
    }

    /// Tells one event; waits for a slow client, but not for ever.
    pub(super) async fn say(&self, event: ModelEvent) -> Result<(), Halt> {
        let event = match self.sender.try_send(event) {
            Ok(()) => return Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => return Err(Halt::Gone),
            Err(mpsc::error::TrySendError::Full(event)) => event,
        };
        tokio::select! {
            sent = self.sender.send(event) => sent.map_err(|_| Halt::Gone),
            () = self.stopped.cancelled() => Err(Halt::Stopping),
            () = self.clock.sleep(PATIENCE) => {
                self.deaf.cancel();
                Err(Halt::Gone)
            }
        }
    }

    /// Waits until there is nobody to tell anything any more.
    pub(super) async fn lost(&self) -> Halt {
        tokio::select! {
            () = self.sender.closed() => Halt::Gone,
            () = self.deaf.cancelled() => Halt::Gone,
            () = self.stopped.cancelled() => Halt::Stopping,
        }
    }

    /// Why there is nobody to tell anything, if there is nobody.
    pub(super) fn check(&self) -> Result<(), Halt> {
        match () {
            () if self.sender.is_closed() || self.deaf.is_cancelled() => Err(Halt::Gone),
            () if self.stopped.is_cancelled() => Err(Halt::Stopping),
            () => Ok(()),
        }
    }

    pub(super) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}
