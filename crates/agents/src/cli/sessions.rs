//! The sessions that a backend knows.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use windlass_core::{Error, Result, SessionId, SessionOptions};

use super::run_context::SessionStart;
use super::tokens::RunningTotal;
use crate::settings::check_argument;

/// Maximum number of known IDs. An evicted session can be loaded again if the agent still has it.
const MAX_NAMES: usize = 1024;

/// The sessions of one backend, by every ID they have had. The least recently used one is evicted.
#[derive(Default)]
pub(super) struct CliSessions {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// Counts lookups.
    lookups: u64,
    by_name: HashMap<SessionId, Entry>,
}

struct Entry {
    session: Arc<CliSession>,
    /// The lookup count at its last use.
    last_used: u64,
}

impl CliSessions {
    pub(super) fn insert(&self, id: SessionId, session: Arc<CliSession>) {
        let table = &mut *lock(&self.table);
        table.lookups += 1;
        let last_used = table.lookups;
        table.by_name.insert(id, Entry { session, last_used });
        if table.by_name.len() > MAX_NAMES {
            table.evict_oldest();
        }
    }

    pub(super) fn get(&self, backend: &str, id: &SessionId) -> Result<Arc<CliSession>> {
        let table = &mut *lock(&self.table);
        table.lookups += 1;
        let known = table.by_name.get_mut(id).map(|entry| {
            entry.last_used = table.lookups;
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
        let oldest = self.by_name.iter().min_by_key(|(_, entry)| entry.last_used);
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
    /// The agent's ID of the session, if known.
    name: Option<String>,
    /// Whether the agent has the session, so that the next turn resumes it.
    exists: bool,
    turns: u64,
    /// Total usage so far; `None` if it is unknown because the session started elsewhere.
    total: Option<RunningTotal>,
    stop: Arc<Notify>,
}

impl CliSession {
    /// Creates a session without turns, with an ID if the client chose one.
    pub(super) fn new(options: SessionOptions, cwd: PathBuf, name: Option<String>) -> Self {
        Self::with(options, cwd, name, false, Some(RunningTotal::default()))
    }

    /// Creates a session that the agent already has, with its total usage if known.
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
        exists: bool,
        total: Option<RunningTotal>,
    ) -> Self {
        Self {
            options,
            cwd,
            state: Mutex::new(CliSessionState {
                name,
                exists,
                turns: 0,
                total,
                stop: Arc::default(),
            }),
        }
    }

    /// Counts a turn, and returns the notification that cancels it.
    pub(super) fn begin_turn(&self) -> Arc<Notify> {
        let mut state = lock(&self.state);
        state.turns += 1;
        // A cancellation that came too late for the last turn must not end this one.
        state.stop = Arc::default();
        Arc::clone(&state.stop)
    }

    /// Cancels the running turn.
    pub(super) fn stop(&self) {
        lock(&self.state).stop.notify_one();
    }

    /// Records the agent's ID of the session. Returns `true` if it differs from the expected one.
    pub(super) fn set_name(&self, name: &str) -> bool {
        let mut state = lock(&self.state);
        state.exists = true;
        let is_other = state.name.as_deref() != Some(name);
        state.name = Some(name.to_owned());
        is_other
    }

    /// Records that the agent has the session although it did not report its ID.
    pub(super) fn mark_existing(&self) {
        lock(&self.state).exists = true;
    }

    pub(super) fn has_turns(&self) -> bool {
        lock(&self.state).exists
    }

    pub(super) fn set_total(&self, total: RunningTotal) {
        lock(&self.state).total = Some(total);
    }

    /// Returns the agent's ID of the session, if known.
    pub(super) fn name(&self) -> Option<String> {
        lock(&self.state).name.clone()
    }

    pub(super) fn turn(&self) -> u64 {
        lock(&self.state).turns
    }

    pub(super) fn total(&self) -> Option<RunningTotal> {
        lock(&self.state).total
    }

    /// Calls `work` with how the next run creates or resumes the session.
    pub(super) fn with_start<T>(&self, work: impl FnOnce(SessionStart<'_>) -> T) -> T {
        let (name, exists) = {
            let state = lock(&self.state);
            (state.name.clone(), state.exists)
        };
        work(match &name {
            None => SessionStart::Fresh,
            Some(name) if exists => SessionStart::Resume(name),
            Some(name) => SessionStart::Named(name),
        })
    }
}

/// Checks that a session's ID, which becomes an argument, has the form of an ID.
pub(super) fn check_name(id: &SessionId) -> Result<()> {
    let name = id.as_str();
    let is_name = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'));
    match check_argument(name) {
        Ok(()) if is_name && name.len() <= 256 => Ok(()),
        Err(problem) => Err(Error::InvalidInput(format!("the session ID {problem}"))),
        Ok(()) => Err(Error::InvalidInput(
            "the session ID may contain only letters, digits and - _ . : and at most 256 characters".to_owned(),
        )),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_recently_used_session_is_evicted() {
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
