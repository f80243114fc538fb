//! The recorded turns, and which of them were played.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;

use tokio_util::sync::CancellationToken;
use windlass_core::cassette::{Interaction, Normalizer, Substitutions, strip_placeholder_numbers};
use windlass_core::{AgentEvent, Error, Result, SessionId};

use super::NAME;
use super::miss::PromptMiss;

/// The turns of a cassette, and the sessions of those who play them.
#[derive(Debug)]
pub(super) struct RecordedTurns {
    turns: Vec<RecordedTurn>,
    /// Sessions that were begun when they were recorded, in order.
    begun: VecDeque<SessionId>,
    /// Sessions that were taken up from a time before the recording.
    taken_up: VecDeque<SessionId>,
    open: HashMap<SessionId, ReplaySession>,
}

#[derive(Debug)]
struct RecordedTurn {
    turn: Interaction,
    played: bool,
}

/// A session that somebody plays.
#[derive(Debug, Clone)]
pub(super) struct ReplaySession {
    /// The session that it was when it was recorded.
    pub(super) recorded: SessionId,
    /// Where it works here.
    pub(super) cwd: Option<PathBuf>,
    stop: CancellationToken,
}

impl RecordedTurns {
    pub(super) fn new(turns: Vec<Interaction>) -> Self {
        let mut begun = VecDeque::new();
        let mut taken_up = VecDeque::new();
        let mut seen = std::collections::HashSet::new();
        for turn in &turns {
            for event in &turn.events {
                // A session that another became is neither begun nor taken up.
                if let AgentEvent::SessionChanged { new_session_id } = &event.event {
                    seen.insert(SessionId::from(new_session_id.as_str()));
                }
            }
            if seen.insert(turn.session.clone()) {
                let list = if turn.resumed {
                    &mut taken_up
                } else {
                    &mut begun
                };
                list.push_back(turn.session.clone());
            }
        }
        let slot = |turn| RecordedTurn {
            turn,
            played: false,
        };
        Self {
            turns: turns.into_iter().map(slot).collect(),
            begun,
            taken_up,
            open: HashMap::new(),
        }
    }

    /// Begins the next session that was recorded, or one more than were.
    /// Every prompt in order, with its session.
    pub(super) fn prompts(&self) -> Vec<(SessionId, String)> {
        let turns = self.turns.iter().map(|slot| &slot.turn);
        turns
            .map(|turn| (turn.session.clone(), turn.prompt.clone()))
            .collect()
    }

    pub(super) fn new_session(&mut self, cwd: Option<PathBuf>) -> SessionId {
        let next = self.begun.pop_front();
        let id = next.unwrap_or_else(|| format!("replay-{}", self.open.len() + 1).into());
        self.insert_session(id.clone(), id.clone(), cwd);
        id
    }

    /// Takes up a session: one that is known here, or the next that was taken up when it was recorded.
    pub(super) fn load_session(&mut self, id: &SessionId, cwd: Option<PathBuf>) -> Result<()> {
        let known = self.open.get(id).map(|open| open.recorded.clone());
        let recorded = match known {
            Some(recorded) => recorded,
            None => self.taken_up.pop_front().ok_or_else(|| unknown(id))?,
        };
        self.insert_session(id.clone(), recorded, cwd);
        Ok(())
    }

    fn insert_session(&mut self, id: SessionId, recorded: SessionId, cwd: Option<PathBuf>) {
        let stop = CancellationToken::new();
        let open = ReplaySession {
            recorded,
            cwd,
            stop,
        };
        self.open.insert(id, open);
    }

    /// The session for a new turn, with what will stop it.
    pub(super) fn start_turn(
        &mut self,
        id: &SessionId,
    ) -> Result<(ReplaySession, CancellationToken)> {
        let open = self.open.get_mut(id).ok_or_else(|| unknown(id))?;
        open.stop = CancellationToken::new();
        Ok((open.clone(), open.stop.clone()))
    }

    pub(super) fn cancel(&mut self, id: &SessionId) -> Result<()> {
        let open = self.open.get(id).ok_or_else(|| unknown(id))?;
        open.stop.cancel();
        Ok(())
    }

    /// Takes the turn that was recorded for this prompt.
    pub(super) fn take(
        &mut self,
        session: &SessionId,
        prompt: &str,
        places: &Substitutions,
    ) -> std::result::Result<Interaction, PromptMiss> {
        let asked = Normalizer::new(places).normalize_text(prompt);
        let key = strip_placeholder_numbers(&asked);
        let fits = |slot: &RecordedTurn| {
            !slot.played && strip_placeholder_numbers(&slot.turn.prompt) == key
        };
        let here = |slot: &RecordedTurn| slot.turn.session == *session && fits(slot);
        let place = self.turns.iter().position(here);
        let Some(place) = place.or_else(|| self.turns.iter().position(fits)) else {
            let recorded = self
                .turns
                .iter()
                .map(|slot| (slot.turn.prompt.as_str(), slot.played));
            return Err(PromptMiss::new(&asked, recorded));
        };
        let slot = &mut self.turns[place];
        slot.played = true;
        let turn = slot.turn.clone();
        for timed in &turn.events {
            if let AgentEvent::SessionChanged { new_session_id } = &timed.event {
                let id = SessionId::from(new_session_id.as_str());
                let cwd = self.open.values().find(|o| o.recorded == *session);
                let cwd = cwd.and_then(|open| open.cwd.clone());
                self.insert_session(id.clone(), id, cwd);
            }
        }
        Ok(turn)
    }
}

fn unknown(session: &SessionId) -> Error {
    Error::SessionNotFound {
        backend: NAME.to_owned(),
        session: session.clone(),
    }
}
