//! The sender of a turn's events.

use tokio::sync::mpsc;
use windlass_core::{AgentEvent, BackendEvent};

/// The sender of a turn's events.
#[derive(Debug, Clone)]
pub(super) struct EventSink(pub(super) mpsc::Sender<BackendEvent>);

impl EventSink {
    /// Sends an event. Errors are ignored: if the receiver was dropped, the turn is about to be dropped too.
    pub(super) async fn send(&self, event: AgentEvent) {
        let _ = self.0.send(event.into()).await;
    }
}
