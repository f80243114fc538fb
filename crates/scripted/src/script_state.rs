//! State shared by all requests to one scripted model: the script's progress and the log of requests.

use std::fmt;

use parking_lot::Mutex;

use crate::exchange_log::{ExchangeOutcome, MAX_EXCHANGES, ScriptReport, ServedExchange};
use crate::intent::NoTool;
use crate::script::{RequestFeatures, Script, ScriptCursor, ScriptTurn, UnusedTurn};

/// A function that is called for every exchange.
pub type ExchangeCallback = Box<dyn Fn(&ServedExchange) + Send + Sync>;

/// The shared state of one scripted model.
pub(crate) struct ScriptState {
    workspace: Option<String>,
    state: Mutex<ScriptStateInner>,
    on_exchange: Option<ExchangeCallback>,
}

#[derive(Debug)]
struct ScriptStateInner {
    cursor: ScriptCursor,
    counts: ScriptReport,
    exchanges: Vec<ServedExchange>,
}

impl ScriptState {
    pub(crate) fn new(script: Script, on_exchange: Option<ExchangeCallback>) -> Self {
        Self {
            workspace: script.workspace.clone(),
            state: Mutex::new(ScriptStateInner {
                cursor: ScriptCursor::new(script),
                counts: ScriptReport::default(),
                exchanges: Vec::new(),
            }),
            on_exchange,
        }
    }

    /// Returns the script's setting for the agent's working directory.
    pub(crate) fn workspace(&self) -> Option<&str> {
        self.workspace.as_deref()
    }

    /// Finds the turn for a request and makes an answer from it. Returns the turn's index, the turn and the
    /// answer.
    ///
    /// If no answer can be made from a turn, the turn is not consumed, so that a retry of the agent gets the
    /// same error.
    pub(crate) fn answer<T>(
        &self,
        features: &RequestFeatures,
        make: impl FnOnce(&ScriptTurn) -> Result<T, NoTool>,
    ) -> Result<(usize, ScriptTurn, T), String> {
        let mut state = self.state.lock();
        let unexpected = |why| format!("the script does not expect this request: {why}");
        let index = state.cursor.find(features).map_err(unexpected)?;
        let turn = state.cursor.turn(index).cloned().unwrap_or_default();
        let unplayable = |why| format!("turn {} cannot be played: {why}", index + 1);
        let answer = make(&turn).map_err(unplayable)?;
        state.cursor.mark_used(index);
        Ok((index, turn, answer))
    }

    /// Records an exchange and calls the callback.
    pub(crate) fn record(&self, mut exchange: ServedExchange) {
        let mut state = self.state.lock();
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
        if let Some(on_exchange) = &self.on_exchange {
            on_exchange(&exchange);
        }
    }

    pub(crate) fn exchanges(&self) -> Vec<ServedExchange> {
        self.state.lock().exchanges.clone()
    }

    pub(crate) fn unused_turns(&self) -> Vec<UnusedTurn> {
        self.state.lock().cursor.unused()
    }

    pub(crate) fn report(&self) -> ScriptReport {
        let state = self.state.lock();
        let unexpected = state
            .exchanges
            .iter()
            .filter(|exchange| exchange.is_unexpected());
        ScriptReport {
            unexpected_requests: unexpected.cloned().collect(),
            unused_turns: state.cursor.unused(),
            ..state.counts.clone()
        }
    }
}

impl fmt::Debug for ScriptState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptState")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
