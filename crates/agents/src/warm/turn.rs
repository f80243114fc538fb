//! One turn in a warm session.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{Stream, stream};
use windlass_core::{AgentEvent, Clock, Envelope, EventReceiver, Result, SessionId, TurnId};

use super::WarmPrompt;
use super::session::{RestartedTurn, SessionLoss, WarmSession};
use super::turn_slot::TurnSlot;

/// The events of one turn, in order; the last one is terminal. The session is free for the next prompt when the
/// last event was read, or when this value is dropped, which cancels the turn.
pub struct WarmTurn {
    warm_session: Arc<WarmSession>,
    prompt: WarmPrompt,
    clock: Arc<dyn Clock>,
    /// `None` once the turn is dropped.
    events: Option<EventReceiver>,
    session: SessionId,
    turn: TurnId,
    seen: u64,
    /// No event was emitted yet that a restart would emit again.
    restartable: bool,
    /// The restart in progress, and the terminal event of the lost turn.
    restart: Option<(BoxFuture<'static, Result<RestartedTurn>>, Envelope)>,
    /// Number of restarts.
    restarts: u8,
    slot: Option<TurnSlot>,
}

/// One restart to resume the session, one to create a new session.
const MAX_RESTARTS: u8 = 2;

impl WarmTurn {
    pub(super) async fn start(
        warm_session: Arc<WarmSession>,
        prompt: WarmPrompt,
        slot: TurnSlot,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let session = warm_session.session();
        let events = warm_session.prompt(&prompt).await?;
        Ok(Self {
            warm_session,
            prompt,
            clock,
            turn: events.turn(),
            events: Some(events),
            session,
            seen: 0,
            restartable: true,
            restart: None,
            restarts: 0,
            slot: Some(slot),
        })
    }

    /// Returns the next event, or `None` after the terminal one. Cancel safe.
    pub async fn recv(&mut self) -> Option<AgentEvent> {
        self.recv_envelope().await.map(|envelope| envelope.event)
    }

    /// Returns the next event with its sequence number, time and session.
    pub async fn recv_envelope(&mut self) -> Option<Envelope> {
        self.slot.as_ref()?;
        loop {
            if let Some((future, _)) = &mut self.restart {
                let restarted = future.await;
                let ended = self.restart.take().map(|(_, ended)| ended);
                match restarted {
                    Ok(restarted) => {
                        if let Some(changed) = self.adopt_restarted(restarted) {
                            return Some(changed);
                        }
                    }
                    Err(error) => {
                        tracing::warn!(%error, "could not restart a turn after its session was lost");
                        return ended.map(|envelope| self.number_envelope(envelope));
                    }
                }
            }
            let envelope = self.events.as_mut()?.recv_envelope().await?;
            match SessionLoss::from_event(&envelope.event) {
                Some(loss) if self.restartable && self.restarts < MAX_RESTARTS => {
                    self.restarts += 1;
                    let (warm_session, prompt) =
                        (Arc::clone(&self.warm_session), self.prompt.clone());
                    let future = async move { warm_session.restart_turn(loss, prompt).await };
                    self.restart = Some((Box::pin(future), envelope));
                }
                _ => return Some(self.number_envelope(envelope)),
            }
        }
    }

    /// Collects all remaining events of the turn.
    pub async fn collect(mut self) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.recv().await {
            events.push(event);
        }
        events
    }

    /// Converts the turn into a stream of events.
    pub fn into_stream(self) -> impl Stream<Item = Envelope> + Send {
        stream::unfold(self, |mut turn| async move {
            let envelope = turn.recv_envelope().await?;
            Some((envelope, turn))
        })
    }

    /// Returns the session that the turn runs in.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Records what an event changes, and sets its sequence number and turn.
    fn number_envelope(&mut self, mut envelope: Envelope) -> Envelope {
        match &envelope.event {
            AgentEvent::SessionChanged { new_session_id } => {
                self.session = SessionId::from(new_session_id.as_str());
                self.warm_session.set_session_id(self.session.clone());
            }
            AgentEvent::Custom { .. } => {}
            _ => self.restartable = false,
        }
        self.seen += 1;
        envelope.seq = self.seen;
        envelope.turn = self.turn;
        if envelope.event.is_terminal() {
            let lost = SessionLoss::from_event(&envelope.event).is_some();
            if let Some(slot) = self.slot.take().filter(|_| lost) {
                slot.drop_session();
            }
        }
        envelope
    }

    /// Continues with a restarted turn, and returns a `SessionChanged` event if it runs in a new session.
    fn adopt_restarted(&mut self, restarted: RestartedTurn) -> Option<Envelope> {
        self.events = Some(restarted.events);
        let new_session_id = restarted.session?.as_str().to_owned();
        let changed = Envelope {
            seq: 0,
            at: self.clock.now(),
            session: self.session.clone(),
            turn: self.turn,
            event: AgentEvent::SessionChanged { new_session_id },
            raw: None,
        };
        Some(self.number_envelope(changed))
    }
}

impl Drop for WarmTurn {
    /// The session is free for the next prompt only after the agent has stopped.
    fn drop(&mut self) {
        let (Some(events), Some(slot)) = (self.events.take(), self.slot.take()) else {
            return;
        };
        let warm_session = Arc::clone(&self.warm_session);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = warm_session.cancel().await;
                events.collect().await;
                drop(slot);
            });
        }
    }
}

impl std::fmt::Debug for WarmTurn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WarmTurn")
            .field("session", &self.session)
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}
