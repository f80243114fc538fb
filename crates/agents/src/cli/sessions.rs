//! The sessions that a backend knows.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use windlass_core::{Error, Result, SessionId, SessionOptions};

use super::run_context::SessionStart;
use super::tokens::RunningTotal;
use crate::settings::check_argument;

/// How many names are known at once. A session that was forgotten can be loaded again, where the agent has kept it.
const MAX_NAMES: usize = 1024;

/// The sessions of one backend, by every name they were given. The one that nobody asked for longest is forgotten.
#[derive(Default)]
pub(super) struct CliSessions {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// Counts the times that somebody asked for a session.
    asked: u64,
    by_name: HashMap<SessionId, Entry>,
}

struct Entry {
    session: Arc<CliSession>,
    /// When it was asked for last.
    asked: u64,
}

impl CliSessions {
    pub(super) fn insert(&self, id: SessionId, session: Arc<CliSession>) {
        let table = &mut *lock(&self.table);
        table.asked += 1;
        let asked = table.asked;
        table.by_name.insert(id, Entry { session, asked });
        if table.by_name.len() > MAX_NAMES {
            table.evict_oldest();
        }
    }

    pub(super) fn get(&self, backend: &str, id: &SessionId) -> Result<Arc<CliSession>> {
        let table = &mut *lock(&self.table);
        table.asked += 1;
        let known = table.by_name.get_mut(id).map(|entry| {
            entry.asked = table.asked;
            Arc::clone(&entry.session)
        });
        known.ok_or_else(|| Error::SessionNotFound {
            backend: backend.to_owned(),
            session: id.clone(),
        })
    }
}

impl Table {
    fn evict_oldest(&mut self) {
        let oldest = self.by_name.iter().min_by_key(|(_, entry)| entry.asked);
        if let Some(id) = oldest.map(|(id, _)| id.clone()) {
            self.by_name.remove(&id);
        }
    }
}

/// One conversation.
pub(super) struct CliSession {
    pub(super) options: SessionOptions,
    pub(super) cwd: PathBuf,
    state: Mutex<CliSessionState>,
}

struct CliSessionState {
    /// The agent's own name for it, as far as it is known.
    name: Option<String>,
    /// Whether the agent has it, so that the next turn resumes it.
    begun: bool,
    turns: u64,
    /// What it consumed so far; `None` if it began before our time.
    total: Option<RunningTotal>,
    stop: Arc<Notify>,
}

impl CliSession {
    /// A session without turns, with the name we chose for it if we did.
    pub(super) fn new(options: SessionOptions, cwd: PathBuf, name: Option<String>) -> Self {
        Self::with(options, cwd, name, false, Some(RunningTotal::default()))
    }

    /// A session of an earlier time, which consumed so much if anybody knows.
    pub(super) fn resumed(
        options: SessionOptions,
        cwd: PathBuf,
        name: String,
        total: Option<RunningTotal>,
    ) -> Self {
        Self::with(options, cwd, Some(name), true, total)
    }

    fn with(
        options: SessionOptions,
        cwd: PathBuf,
        name: Option<String>,
        begun: bool,
        total: Option<RunningTotal>,
    ) -> Self {
        Self {
            options,
            cwd,
            state: Mutex::new(CliSessionState {
                name,
                begun,
                turns: 0,
                total,
                stop: Arc::default(),
            }),
        }
    }

    /// Counts a turn, and says how to find out that it is to be stopped.
    pub(super) fn begin_turn(&self) -> Arc<Notify> {
        let mut state = lock(&self.state);
        state.turns += 1;
        // A stop that came too late for the last turn must not end this one.
        state.stop = Arc::default();
        Arc::clone(&state.stop)
    }

    /// Asks the turn under way to end.
    pub(super) fn stop(&self) {
        lock(&self.state).stop.notify_one();
    }

    /// Takes note of the agent's name for it. Says whether it is another than the one that was expected.
    pub(super) fn set_name(&self, name: &str) -> bool {
        let mut state = lock(&self.state);
        state.begun = true;
        let is_other = state.name.as_deref() != Some(name);
        state.name = Some(name.to_owned());
        is_other
    }

    /// Takes note that the agent has it, although it never said so.
    pub(super) fn mark_existing(&self) {
        lock(&self.state).begun = true;
    }

    pub(super) fn has_turns(&self) -> bool {
        lock(&self.state).begun
    }

    pub(super) fn set_total(&self, total: RunningTotal) {
        lock(&self.state).total = Some(total);
    }

    /// The agent's own name for it, if it is known.
    pub(super) fn name(&self) -> Option<String> {
        lock(&self.state).name.clone()
    }

    pub(super) fn turn(&self) -> u64 {
        lock(&self.state).turns
    }

    pub(super) fn total(&self) -> Option<RunningTotal> {
        lock(&self.state).total
    }

    /// Runs `work` with how the next run takes the session up.
    pub(super) fn with_start<T>(&self, work: impl FnOnce(SessionStart<'_>) -> T) -> T {
        let (name, begun) = {
            let state = lock(&self.state);
            (state.name.clone(), state.begun)
        };
        work(match &name {
            None => SessionStart::Fresh,
            Some(name) if begun => SessionStart::Resume(name),
            Some(name) => SessionStart::Named(name),
        })
    }
}

/// A session's name becomes an argument: it must look like a name.
pub(super) fn check_name(id: &SessionId) -> Result<()> {
    let name = id.as_str();
    let is_name = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'));
    match check_argument(name) {
        Ok(()) if is_name && name.len() <= 256 => Ok(()),
        Err(problem) => Err(Error::InvalidInput(format!("the session's name {problem}"))),
        Ok(()) => Err(Error::InvalidInput(
            "the session's name may have letters, digits, and the signs - _ . :".to_owned(),
        )),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_that_nobody_asked_for_longest_is_forgotten() {
        let sessions = CliSessions::default();
        let session = || Arc::new(CliSession::new(SessionOptions::default(), "/".into(), None));
        let id = |number: usize| SessionId::from(format!("s{number}"));
        for number in 0..MAX_NAMES {
            sessions.insert(id(number), session());
        }
        assert!(sessions.get("x", &id(0)).is_ok());
        sessions.insert(id(MAX_NAMES), session());
        assert!(sessions.get("x", &id(0)).is_ok());
        assert!(matches!(
            sessions.get("x", &id(1)),
            Err(Error::SessionNotFound { .. })
        ));
        assert_eq!(lock(&sessions.table).by_name.len(), MAX_NAMES);
    }
}
