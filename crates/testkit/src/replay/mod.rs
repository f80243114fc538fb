//! An agent that replays a cassette.

mod config;
mod diff;
mod miss;
mod turns;

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{Stream, StreamExt};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use windlass_cassette::{Cassette, Interaction, Substitutions, TimedEvent};
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, BackendEvent, Capabilities, Clock, Error, EventStream,
    Prompt, Result, SessionId, SessionOptions, SystemClock, ready_events, registry,
};

pub use config::{ReplayConfig, read_cassette};
use turns::RecordedTurns;

/// The name of the backend.
const NAME: &str = "replay";

/// When recorded events are emitted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// Immediately.
    #[default]
    Instant,
    /// With the recorded delay after the prompt.
    Recorded,
}

/// An agent that answers from a cassette.
///
/// A prompt is answered with the turn that was recorded for it: in the same session if there is
/// one, otherwise in any; each turn once, in order. Machine-specific values are replaced by the
/// local ones. A prompt that is not in the cassette ends in an error with a diff to the closest
/// recorded prompt. A turn that was interrupted is replayed up to that point, and then waits to be
/// interrupted again.
#[derive(Debug)]
pub struct ReplayAgent {
    capabilities: Capabilities,
    turns: Mutex<RecordedTurns>,
    substitutions: Substitutions,
    clock: Arc<dyn Clock>,
    timing: Timing,
}

impl ReplayAgent {
    /// Creates an agent that replays this cassette without delays.
    pub fn new(cassette: Cassette) -> Self {
        let turns: Vec<Interaction> = cassette.interactions().cloned().collect();
        Self {
            capabilities: inferred_capabilities(&turns),
            turns: Mutex::new(RecordedTurns::new(turns)),
            substitutions: Substitutions::new(),
            clock: Arc::new(SystemClock::new()),
            timing: Timing::Instant,
        }
    }

    /// Uses these substitutions for the local machine. The working directory of a session is always
    /// its workspace.
    #[must_use]
    pub fn with_substitutions(mut self, substitutions: Substitutions) -> Self {
        self.substitutions = substitutions;
        self
    }

    /// Sets when events are emitted.
    #[must_use]
    pub fn with_timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Uses this clock for delays.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Returns every recorded prompt in order, each with its session.
    pub fn prompts(&self) -> Vec<(SessionId, String)> {
        self.turns.lock().prompts()
    }

    /// Returns a factory of replays from configuration, for a registry.
    pub fn factory() -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
        |config| {
            let config: ReplayConfig = registry::parse_config(config)?;
            Ok(AgentHandle::wrap(config.into_agent()?))
        }
    }

    fn substitutions(&self, cwd: Option<&PathBuf>) -> Substitutions {
        match cwd {
            Some(cwd) => self.substitutions.with_workspace(cwd),
            None => self.substitutions.clone(),
        }
    }

    fn check(&self, options: &SessionOptions) -> Result<()> {
        if options.output_schema.is_some() && !self.capabilities.native_schema {
            return Err(Error::unsupported(
                NAME,
                "enforce a schema: none was recorded",
            ));
        }
        Ok(())
    }

    /// Returns the events of a turn with their delays; if the turn was interrupted, the stream does
    /// not end.
    fn play(&self, turn: Interaction) -> impl Stream<Item = BackendEvent> + Send + use<> {
        let clock = Arc::clone(&self.clock);
        let start = clock.elapsed();
        let timing = self.timing;
        let silence = futures::stream::pending().take(usize::from(turn.cut.is_some()));
        futures::stream::iter(turn.events)
            .then(move |TimedEvent { at, event }| {
                let wait = (start + at).saturating_sub(clock.elapsed());
                let sleep = (timing == Timing::Recorded).then(|| clock.sleep(wait));
                async move {
                    if let Some(sleep) = sleep {
                        sleep.await;
                    }
                    BackendEvent::from(event)
                }
            })
            .chain(silence)
    }
}

impl AgentBackend for ReplayAgent {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(async move {
            self.check(&options)?;
            Ok(self.turns.lock().new_session(options.cwd))
        })
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.check(&options)?;
            self.turns.lock().load_session(id, options.cwd)
        })
    }

    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        Box::pin(async move {
            let mut turns = self.turns.lock();
            let (session, stop) = turns.start_turn(id)?;
            let substitutions = self.substitutions(session.cwd.as_ref());
            match turns.take(&session.recorded, &prompt.text, &substitutions) {
                Ok(mut turn) => {
                    substitutions.restore(&mut turn);
                    let events = self.play(turn).take_until(stop.cancelled_owned());
                    Ok(Box::pin(events) as EventStream)
                }
                Err(miss) => Ok(ready_events([AgentEvent::from(miss)])),
            }
        })
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { self.turns.lock().cancel(id) })
    }
}

/// Infers the capabilities of the recorded agent from its turns.
fn inferred_capabilities(turns: &[Interaction]) -> Capabilities {
    let event = |shows: fn(&AgentEvent) -> bool| {
        let mut events = turns.iter().flat_map(|turn| &turn.events);
        events.any(|timed| shows(&timed.event))
    };
    let option = |shows: fn(&Interaction) -> bool| turns.iter().any(shows);
    Capabilities {
        streaming: event(|e| matches!(e, AgentEvent::Text(_))),
        load_session: true,
        tools: event(|e| matches!(e, AgentEvent::ToolStart { .. })),
        permissions: event(|e| matches!(e, AgentEvent::PermissionRequest { .. })),
        native_schema: option(|turn| turn.options.output_schema.is_some()),
        mcp: option(|turn| !turn.options.mcp_servers.is_empty()),
        model_choice: option(|turn| turn.options.model.is_some()),
        usage: event(|e| matches!(e, AgentEvent::Result { usage: Some(_), .. })),
        cost: event(
            |e| matches!(e, AgentEvent::Result { usage: Some(usage), .. } if usage.cost_usd.is_some()),
        ),
    }
}
