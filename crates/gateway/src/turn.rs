//! One turn of an agent for one client.

use windlass_core::{
    AgentEvent, AgentHandle, Error, EventReceiver, Prompt, SessionId, SessionOptions,
};

use crate::client::{AbortReason, ClientSender};
use crate::errors;

/// A turn in its own session. If the client disconnects, the turn is cancelled, and its events are still read
/// to the end, so that its directory is removed only after the agent has stopped.
pub(crate) struct AgentTurn<'a> {
    agent: &'a AgentHandle,
    session: SessionId,
    events: EventReceiver,
    client: &'a ClientSender,
    cancelled: bool,
}

impl<'a> AgentTurn<'a> {
    /// Starts a session and a turn in it.
    pub(crate) async fn start(
        agent: &'a AgentHandle,
        name: &str,
        options: SessionOptions,
        prompt: String,
        client: &'a ClientSender,
    ) -> Result<Self, AbortReason> {
        let failed = |error: Error| AbortReason::Failed(errors::from_error(name, &error));
        let session = tokio::select! {
            session = agent.new_session(options) => session.map_err(failed)?,
            reason = client.closed() => return Err(reason),
        };
        // From here on the turn is started in any case: its end cleans up the session's process.
        let events = agent.prompt(&session, Prompt::from(prompt)).await;
        Ok(Self {
            events: events.map_err(failed)?,
            agent,
            session,
            client,
            cancelled: false,
        })
    }

    /// Returns the next event; `None` after the terminal event.
    pub(crate) async fn next(&mut self) -> Option<AgentEvent> {
        if !self.cancelled {
            tokio::select! {
                event = self.events.recv() => return event,
                _ = self.client.closed() => self.cancel().await,
            }
        }
        self.events.recv().await
    }

    async fn cancel(&mut self) {
        self.cancelled = true;
        if let Err(error) = self.agent.cancel(&self.session).await {
            tracing::debug!(%error, "cannot cancel turn");
        }
    }
}
