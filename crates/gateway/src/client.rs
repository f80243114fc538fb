//! Sending of events from a job to its client, which may disconnect or stop reading.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use windlass_core::Clock;
use windlass_wire::{ModelError, ModelEvent};

/// How long a client may take to accept an event.
const SEND_TIMEOUT: Duration = Duration::from_secs(120);

/// The reason why a response is aborted.
#[derive(Debug)]
pub(crate) enum AbortReason {
    /// The client disconnected or stopped reading.
    ClientGone,
    /// The server is shutting down.
    ShuttingDown,
    /// The request failed.
    Failed(ModelError),
}

impl From<ModelError> for AbortReason {
    fn from(error: ModelError) -> Self {
        Self::Failed(error)
    }
}

/// Sends events to the client.
#[derive(Debug)]
pub(crate) struct ClientSender {
    sender: mpsc::Sender<ModelEvent>,
    clock: Arc<dyn Clock>,
    stopped: CancellationToken,
    /// Cancelled when the client stops reading.
    timed_out: CancellationToken,
}

impl ClientSender {
    pub(crate) fn new(
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

    /// Sends one event. Waits for a slow client, up to [`SEND_TIMEOUT`].
    pub(crate) async fn send(&self, event: ModelEvent) -> Result<(), AbortReason> {
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

    /// Waits until events can no longer be sent.
    pub(crate) async fn closed(&self) -> AbortReason {
        tokio::select! {
            () = self.sender.closed() => AbortReason::ClientGone,
            () = self.timed_out.cancelled() => AbortReason::ClientGone,
            () = self.stopped.cancelled() => AbortReason::ShuttingDown,
        }
    }

    /// Returns the reason if events can no longer be sent.
    pub(crate) fn check(&self) -> Result<(), AbortReason> {
        if self.sender.is_closed() || self.timed_out.is_cancelled() {
            Err(AbortReason::ClientGone)
        } else if self.stopped.is_cancelled() {
            Err(AbortReason::ShuttingDown)
        } else {
            Ok(())
        }
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}
