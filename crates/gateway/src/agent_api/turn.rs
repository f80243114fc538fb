//! One turn of an agent for one client.

use windlass_core::{
    AgentEvent, AgentHandle, Error, EventReceiver, Prompt, SessionId, SessionOptions,
};

use super::client::{AbortReason, ClientSender};
use super::errors;

/// A turn in a session of its own. When the client is lost it is cancelled, and still heard to its end, so that
/// whoever removes its folder knows that nobody works there any more.
pub(super) struct AgentTurn<'a> {
    agent: &'a AgentHandle,
    session: SessionId,
    events: EventReceiver,
    voice: &'a ClientSender,
    cancelled: bool,
}

impl<'a> AgentTurn<'a> {
    /// Begins a session and a turn in it.
    pub(super) async fn start(
        agent: &'a AgentHandle,
        name: &str,
        options: SessionOptions,
        prompt: String,
        voice: &'a ClientSender,
    ) -> Result<Self, AbortReason> {
        let failed = |error: Error| AbortReason::Failed(errors::from_error(name, &error));
        let session = tokio::select! {
            session = agent.new_session(options) => session.map_err(failed)?,
            halt = voice.closed() => return Err(halt),
        };
        // From here on the turn is begun in any case: its end is what puts the session's process away.
        let events = agent.prompt(&session, Prompt::from(prompt)).await;
        Ok(Self {
            events: events.map_err(failed)?,
            agent,
            session,
            voice,
            cancelled: false,
        })
    }

    /// The next event; `None` after the terminal one.
    pub(super) async fn next(&mut self) -> Option<AgentEvent> {
        if !self.cancelled {
            tokio::select! {
                event = self.events.recv() => return event,
                _ = self.voice.closed() => self.cancel().await,
            }
        }
        self.events.recv().await
    }

    async fn cancel(&mut self) {
        self.cancelled = true;
        if let Err(error) = self.agent.cancel(&self.session).await {
            tracing::debug!(%error, "a turn could not be cancelled");
        }
    }
}
