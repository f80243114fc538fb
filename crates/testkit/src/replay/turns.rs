//! The recorded turns, and which of them were already played.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;

use tokio_util::sync::CancellationToken;
use windlass_cassette::{Interaction, Normalizer, Substitutions, strip_placeholder_numbers};
use windlass_core::{AgentEvent, Error, Result, SessionId};

use super::NAME;
use super::miss::PromptMiss;

/// The turns of a cassette, and the open replay sessions.
#[derive(Debug)]
pub(super) struct RecordedTurns {
    turns: Vec<RecordedTurn>,
    /// Sessions that were started in the recording, in order.
    started: VecDeque<SessionId>,
    /// Sessions that were resumed in the recording and started before it.
    resumed: VecDeque<SessionId>,
    open: HashMap<SessionId, ReplaySession>,
}

#[derive(Debug)]
struct RecordedTurn {
    turn: Interaction,
    played: bool,
}

/// An open replay session.
#[derive(Debug, Clone)]
pub(super) struct ReplaySession {
    /// The corresponding session of the recording.
    pub(super) recorded: SessionId,
    /// Its local working directory.
    pub(super) cwd: Option<PathBuf>,
    stop: CancellationToken,
}

impl RecordedTurns {
    pub(super) fn new(turns: Vec<Interaction>) -> Self {
        let mut started = VecDeque::new();
        let mut resumed = VecDeque::new();
        let mut seen = std::collections::HashSet::new();
        for turn in &turns {
            for event in &turn.events {
                // A session that another one changed into was neither started nor resumed.
                if let AgentEvent::SessionChanged { new_session_id } = &event.event {
                    seen.insert(SessionId::from(new_session_id.as_str()));
                }
            }
            if seen.insert(turn.session.clone()) {
                let list = if turn.resumed {
                    &mut resumed
                } else {
                    &mut started
                };
                list.push_back(turn.session.clone());
            }
        }
        let unplayed = |turn| RecordedTurn {
            turn,
            played: false,
        };
        Self {
            turns: turns.into_iter().map(unplayed).collect(),
            started,
            resumed,
            open: HashMap::new(),
        }
    }

    /// Returns every prompt in order, with its session.
    pub(super) fn prompts(&self) -> Vec<(SessionId, String)> {
        let turns = self.turns.iter().map(|recorded| &recorded.turn);
        turns
            .map(|turn| (turn.session.clone(), turn.prompt.clone()))
            .collect()
    }

    /// Starts the next session of the recording, or an additional one if there are no more.
    pub(super) fn new_session(&mut self, cwd: Option<PathBuf>) -> SessionId {
        let next = self.started.pop_front();
        let id = next.unwrap_or_else(|| format!("replay-{}", self.open.len() + 1).into());
        self.insert_session(id.clone(), id.clone(), cwd);
        id
    }

    /// Resumes a session: one that is open here, or the next one that was resumed in the recording.
    pub(super) fn load_session(&mut self, id: &SessionId, cwd: Option<PathBuf>) -> Result<()> {
        let known = self.open.get(id).map(|open| open.recorded.clone());
        let recorded = match known {
            Some(recorded) => recorded,
            None => self.resumed.pop_front().ok_or_else(|| unknown(id))?,
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

    /// Returns the session for a new turn, with the token that cancels it.
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

    /// Returns the turn that was recorded for this prompt, and marks it as played.
    pub(super) fn take(
        &mut self,
        session: &SessionId,
        prompt: &str,
        substitutions: &Substitutions,
    ) -> std::result::Result<Interaction, PromptMiss> {
        let normalized = Normalizer::new(substitutions).normalize_text(prompt);
        let key = strip_placeholder_numbers(&normalized);
        let matches = |recorded: &RecordedTurn| {
            !recorded.played && strip_placeholder_numbers(&recorded.turn.prompt) == key
        };
        let in_session =
            |recorded: &RecordedTurn| recorded.turn.session == *session && matches(recorded);
        let index = self.turns.iter().position(in_session);
        let Some(index) = index.or_else(|| self.turns.iter().position(matches)) else {
            let recorded = self
                .turns
                .iter()
                .map(|recorded| (recorded.turn.prompt.as_str(), recorded.played));
            return Err(PromptMiss::new(&normalized, recorded));
        };
        let recorded = &mut self.turns[index];
        recorded.played = true;
        let turn = recorded.turn.clone();
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
