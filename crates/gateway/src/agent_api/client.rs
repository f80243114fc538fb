//! The way from a job to its client, who may go away or not listen.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use windlass_core::Clock;
use windlass_wire::{ModelError, ModelEvent};

/// How long a client may leave an event lying.
const SEND_TIMEOUT: Duration = Duration::from_secs(120);

/// Why an answer does not go on.
#[derive(Debug)]
pub(super) enum AbortReason {
    /// The client went away, or does not listen any more.
    ClientGone,
    /// The server stops.
    ShuttingDown,
    /// It failed.
    Failed(ModelError),
}

impl From<ModelError> for AbortReason {
    fn from(error: ModelError) -> Self {
        Self::Failed(error)
    }
}

/// Tells the client what happens.
#[derive(Debug)]
pub(super) struct ClientSender {
    sender: mpsc::Sender<ModelEvent>,
    clock: Arc<dyn Clock>,
    stopped: CancellationToken,
    /// Set when the client does not listen.
    timed_out: CancellationToken,
}

impl ClientSender {
    pub(super) fn new(
        sender: mpsc::Sender<ModelEvent>,
        clock: Arc<dyn Clock>,
        stopped: CancellationToken,
    ) -> Self {
        Self {
            sender,
            clock,
            stopped,
            timed_out: CancellationToken::new(),
        }
    }

    /// Tells one event; waits for a slow client, but not for ever.
    pub(super) async fn send(&self, event: ModelEvent) -> Result<(), AbortReason> {
        let event = match self.sender.try_send(event) {
            Ok(()) => return Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => return Err(AbortReason::ClientGone),
            Err(mpsc::error::TrySendError::Full(event)) => event,
        };
        tokio::select! {
            sent = self.sender.send(event) => sent.map_err(|_| AbortReason::ClientGone),
            () = self.stopped.cancelled() => Err(AbortReason::ShuttingDown),
            () = self.clock.sleep(SEND_TIMEOUT) => {
                self.timed_out.cancel();
                Err(AbortReason::ClientGone)
            }
        }
    }

    /// Waits until there is nobody to tell anything any more.
    pub(super) async fn closed(&self) -> AbortReason {
        tokio::select! {
            () = self.sender.closed() => AbortReason::ClientGone,
            () = self.timed_out.cancelled() => AbortReason::ClientGone,
            () = self.stopped.cancelled() => AbortReason::ShuttingDown,
        }
    }

    /// Why there is nobody to tell anything, if there is nobody.
    pub(super) fn check(&self) -> Result<(), AbortReason> {
        match () {
            () if self.sender.is_closed() || self.timed_out.is_cancelled() => {
                Err(AbortReason::ClientGone)
            }
            () if self.stopped.is_cancelled() => Err(AbortReason::ShuttingDown),
            () => Ok(()),
        }
    }

    pub(super) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}
