//! One turn in a warm session.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{Stream, stream};
use windlass_core::{
    AgentEvent, Clock, Envelope, EventReceiver, Prompt, Result, SessionId, TurnId,
};

use super::session::{RestartedTurn, SessionLoss, WarmSession};
use super::slot::TurnSlot;

/// The events of one turn, in order, the last one terminal. The session is free for the next prompt when the last was
/// read or this is dropped, which stops the turn.
pub struct WarmTurn {
    life: Arc<WarmSession>,
    prompt: Prompt,
    clock: Arc<dyn Clock>,
    /// Until the turn is dropped.
    events: Option<EventReceiver>,
    session: SessionId,
    turn: TurnId,
    seen: u64,
    /// Whether the agent has said nothing yet that it would say again.
    untold: bool,
    /// A turn that is being begun again, and how the first ended.
    renewal: Option<(BoxFuture<'static, Result<RestartedTurn>>, Envelope)>,
    /// How often it was.
    renewed: u8,
    seat: Option<TurnSlot>,
}

/// Once to find the session again, once for a new one.
const MAX_RESTARTS: u8 = 2;

impl WarmTurn {
    pub(super) async fn start(
        life: Arc<WarmSession>,
        prompt: Prompt,
        seat: TurnSlot,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let session = life.session();
        let events = life.prompt(prompt.clone()).await?;
        Ok(Self {
            life,
            prompt,
            clock,
            turn: events.turn(),
            events: Some(events),
            session,
            seen: 0,
            untold: true,
            renewal: None,
            renewed: 0,
            seat: Some(seat),
        })
    }

    /// The next event, or `None` after the terminal one. Dropping the future loses nothing.
    pub async fn recv(&mut self) -> Option<AgentEvent> {
        self.recv_envelope().await.map(|envelope| envelope.event)
    }

    /// The next event with its number, time and source.
    pub async fn recv_envelope(&mut self) -> Option<Envelope> {
        self.seat.as_ref()?;
        loop {
            if let Some((work, _)) = &mut self.renewal {
                let renewed = work.await;
                let ended = self.renewal.take().map(|(_, ended)| ended);
                match renewed {
                    Ok(renewed) => {
                        if let Some(changed) = self.adopt_restarted(renewed) {
                            return Some(changed);
                        }
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a lost session could not be begun again");
                        return ended.map(|envelope| self.number_envelope(envelope));
                    }
                }
            }
            let envelope = self.events.as_mut()?.recv_envelope().await?;
            match SessionLoss::from_event(&envelope.event) {
                Some(loss) if self.untold && self.renewed < MAX_RESTARTS => {
                    self.renewed += 1;
                    let (life, prompt) = (Arc::clone(&self.life), self.prompt.clone());
                    let work = async move { life.restart_turn(loss, prompt).await };
                    self.renewal = Some((Box::pin(work), envelope));
                }
                _ => return Some(self.number_envelope(envelope)),
            }
        }
    }

    /// All events to the end of the turn.
    pub async fn collect(mut self) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.recv().await {
            events.push(event);
        }
        events
    }

    /// The events as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Envelope> + Send {
        stream::unfold(self, |mut turn| async move {
            let envelope = turn.recv_envelope().await?;
            Some((envelope, turn))
        })
    }

    /// The session that the turn is in.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Takes note of what is told, and gives it its number.
    fn number_envelope(&mut self, mut envelope: Envelope) -> Envelope {
        match &envelope.event {
            AgentEvent::SessionChanged { new_session_id } => {
                self.session = SessionId::from(new_session_id.as_str());
                self.life.set_session_id(self.session.clone());
            }
            AgentEvent::Custom { .. } => {}
            _ => self.untold = false,
        }
        self.seen += 1;
        envelope.seq = self.seen;
        envelope.turn = self.turn;
        if envelope.event.is_terminal() {
            let lost = SessionLoss::from_event(&envelope.event).is_some();
            if let Some(mut seat) = self.seat.take().filter(|_| lost) {
                seat.drop_session();
            }
        }
        envelope
    }

    /// Reads on from a turn that was begun again, and says so where its session is another.
    fn adopt_restarted(&mut self, renewed: RestartedTurn) -> Option<Envelope> {
        self.events = Some(renewed.events);
        let new_session_id = renewed.session?.as_str().to_owned();
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
    /// The session is free for the next prompt when the agent has stopped, and not before.
    fn drop(&mut self) {
        let (Some(events), Some(seat)) = (self.events.take(), self.seat.take()) else {
            return;
        };
        let life = Arc::clone(&self.life);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = life.cancel().await;
                events.collect().await;
                drop(seat);
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
