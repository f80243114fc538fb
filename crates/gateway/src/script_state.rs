//! What all requests to one scripted model share: the script as far as it is played, and the book of what came.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::exchange_log::{ExchangeOutcome, MAX_EXCHANGES, ScriptReport, ServedExchange};
use crate::intent::NoTool;
use crate::script::{RequestFeatures, Script, ScriptCursor, ScriptTurn, UnusedTurn};

/// Told of every exchange.
pub type ExchangeCallback = Box<dyn Fn(&ServedExchange) + Send + Sync>;

/// The shared state of one scripted model.
pub(crate) struct ScriptState {
    workspace: Option<String>,
    state: Mutex<ScriptStateInner>,
    watch: Option<ExchangeCallback>,
}

#[derive(Debug)]
struct ScriptStateInner {
    play: ScriptCursor,
    counts: ScriptReport,
    exchanges: Vec<ServedExchange>,
}

impl ScriptState {
    pub(crate) fn new(script: Script, watch: Option<ExchangeCallback>) -> Self {
        Self {
            workspace: script.workspace.clone(),
            state: Mutex::new(ScriptStateInner {
                play: ScriptCursor::new(script),
                counts: ScriptReport::default(),
                exchanges: Vec::new(),
            }),
            watch,
        }
    }

    /// The script's own word on where the agent works.
    pub(crate) fn workspace(&self) -> Option<&str> {
        self.workspace.as_deref()
    }

    /// Makes an answer of the turn that answers, and gives its place, the turn and the answer.
    ///
    /// A turn of which no answer can be made is not used up, so that a second try of the agent hears the same.
    pub(crate) fn answer<T>(
        &self,
        asked: &RequestFeatures,
        make: impl FnOnce(&ScriptTurn) -> Result<T, NoTool>,
    ) -> Result<(usize, ScriptTurn, T), String> {
        let mut state = self.lock();
        let misfit = |why| format!("the script does not expect this request: {why}");
        let place = state.play.find(asked).map_err(misfit)?;
        let turn = state.play.turn(place).cloned().unwrap_or_default();
        let unplayable = |why| format!("turn {} cannot be played here: {why}", place + 1);
        let answer = make(&turn).map_err(unplayable)?;
        state.play.mark_used(place);
        Ok((place, turn, answer))
    }

    /// Writes an exchange down and tells whoever watches.
    pub(crate) fn record(&self, mut exchange: ServedExchange) {
        let mut state = self.lock();
        state.counts.requests += 1;
        match exchange.outcome {
            ExchangeOutcome::Turn(_) => state.counts.turns += 1,
            ExchangeOutcome::SideCall(_) => state.counts.side_calls += 1,
            ExchangeOutcome::Unexpected(_) => state.counts.unexpected += 1,
        }
        exchange.number = state.counts.requests;
        if state.exchanges.len() < MAX_EXCHANGES {
            state.exchanges.push(exchange.clone());
        }
        drop(state);
        tracing::debug!(%exchange, "scripted model");
        if let Some(watch) = &self.watch {
            watch(&exchange);
        }
    }

    pub(crate) fn exchanges(&self) -> Vec<ServedExchange> {
        self.lock().exchanges.clone()
    }

    pub(crate) fn unused_turns(&self) -> Vec<UnusedTurn> {
        self.lock().play.unused()
    }

    pub(crate) fn report(&self) -> ScriptReport {
        let state = self.lock();
        let unexpected = state
            .exchanges
            .iter()
            .filter(|exchange| exchange.is_unexpected());
        ScriptReport {
            unexpected_requests: unexpected.cloned().collect(),
            unmet: state.play.unused(),
            ..state.counts.clone()
        }
    }

    fn lock(&self) -> MutexGuard<'_, ScriptStateInner> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ScriptState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Room")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
