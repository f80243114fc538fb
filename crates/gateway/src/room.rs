//! What all requests to one scripted model share: the script as far as it is played, and the book of what came.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::intent::NoTool;
use crate::record::{Exchange, KEPT, Outcome, Report};
use crate::script::{Asked, Play, Script, Turn, UnmetTurn};

/// Told of every exchange.
pub type Watch = Box<dyn Fn(&Exchange) + Send + Sync>;

/// The shared state of one scripted model.
pub(crate) struct Room {
    workspace: Option<String>,
    state: Mutex<State>,
    watch: Option<Watch>,
}

#[derive(Debug)]
struct State {
    play: Play,
    counts: Report,
    exchanges: Vec<Exchange>,
}

impl Room {
    pub(crate) fn new(script: Script, watch: Option<Watch>) -> Self {
        Self {
            workspace: script.workspace.clone(),
            state: Mutex::new(State {
                play: Play::new(script),
                counts: Report::default(),
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
        asked: &Asked,
        make: impl FnOnce(&Turn) -> Result<T, NoTool>,
    ) -> Result<(usize, Turn, T), String> {
        let mut state = self.lock();
        let misfit = |why| format!("the script does not expect this request: {why}");
        let place = state.play.find(asked).map_err(misfit)?;
        let turn = state.play.turn(place).cloned().unwrap_or_default();
        let unplayable = |why| format!("turn {} cannot be played here: {why}", place + 1);
        let answer = make(&turn).map_err(unplayable)?;
        state.play.use_up(place);
        Ok((place, turn, answer))
    }

    /// Writes an exchange down and tells whoever watches.
    pub(crate) fn note(&self, mut exchange: Exchange) {
        let mut state = self.lock();
        state.counts.requests += 1;
        match exchange.outcome {
            Outcome::Turn(_) => state.counts.turns += 1,
            Outcome::SideCall(_) => state.counts.side_calls += 1,
            Outcome::Unexpected(_) => state.counts.unexpected += 1,
        }
        exchange.number = state.counts.requests;
        if state.exchanges.len() < KEPT {
            state.exchanges.push(exchange.clone());
        }
        drop(state);
        tracing::debug!(%exchange, "scripted model");
        if let Some(watch) = &self.watch {
            watch(&exchange);
        }
    }

    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.lock().exchanges.clone()
    }

    pub(crate) fn unmet(&self) -> Vec<UnmetTurn> {
        self.lock().play.unmet()
    }

    pub(crate) fn report(&self) -> Report {
        let state = self.lock();
        let unexpected = state
            .exchanges
            .iter()
            .filter(|exchange| exchange.is_unexpected());
        Report {
            unexpected_requests: unexpected.cloned().collect(),
            unmet: state.play.unmet(),
            ..state.counts.clone()
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Room")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
