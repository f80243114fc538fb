//! One turn of an agent for one client.

use windlass_core::{
    AgentEvent, AgentHandle, Error, EventReceiver, Prompt, SessionId, SessionOptions,
};

use super::refusal;
use super::voice::{Halt, Voice};

/// A turn in a session of its own. When the client is lost it is cancelled, and still heard to its end, so that
/// whoever removes its folder knows that nobody works there any more.
pub(super) struct Turn<'a> {
    agent: &'a AgentHandle,
    session: SessionId,
    events: EventReceiver,
    voice: &'a Voice,
    cancelled: bool,
}

impl<'a> Turn<'a> {
    /// Begins a session and a turn in it.
    pub(super) async fn begin(
        agent: &'a AgentHandle,
        name: &str,
        options: SessionOptions,
        prompt: String,
        voice: &'a Voice,
    ) -> Result<Self, Halt> {
        let failed = |error: Error| Halt::Failed(refusal::of_error(name, &error));
        let session = tokio::select! {
            session = agent.new_session(options) => session.map_err(failed)?,
            halt = voice.lost() => return Err(halt),
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
                _ = self.voice.lost() => self.cancel().await,
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
