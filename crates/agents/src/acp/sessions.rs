//! The sessions that a backend knows.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use windlass_core::{
    Error, ErrorCode, PermissionPolicy, PermissionRule, Result, SessionId, SessionOptions, Usage,
};

use super::pool::ProcessKey;

/// How many sessions are known at once; the one that was used longest ago is forgotten first.
const MAX_SESSIONS: usize = 256;

/// Every session of one backend.
#[derive(Debug, Default)]
pub(super) struct AcpSessions {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    uses: u64,
    by_id: HashMap<SessionId, (u64, Arc<AcpSession>)>,
}

impl AcpSessions {
    /// Adds a session. Where there is no room, one without a turn makes it.
    pub(super) fn insert(&self, id: SessionId, session: Arc<AcpSession>) -> Result<()> {
        let mut table = lock(&self.table);
        table.uses += 1;
        let used = table.uses;
        if table.by_id.len() >= MAX_SESSIONS && !table.by_id.contains_key(&id) {
            let idle = table
                .by_id
                .iter()
                .filter(|(_, (_, session))| !session.is_busy());
            let oldest = idle
                .min_by_key(|(_, (used, _))| *used)
                .map(|(id, _)| id.clone());
            let oldest = oldest.ok_or_else(|| {
                Error::agent(
                    ErrorCode::BackendError,
                    format!("all {MAX_SESSIONS} sessions are busy: wait for one to end"),
                )
            })?;
            table.by_id.remove(&oldest);
        }
        table.by_id.insert(id, (used, session));
        Ok(())
    }

    pub(super) fn get(&self, backend: &str, id: &SessionId) -> Result<Arc<AcpSession>> {
        let mut table = lock(&self.table);
        table.uses += 1;
        let now = table.uses;
        let known = table.by_id.get_mut(id).map(|(used, session)| {
            *used = now;
            Arc::clone(session)
        });
        known.ok_or_else(|| Error::SessionNotFound {
            backend: backend.to_owned(),
            session: id.clone(),
        })
    }

    pub(super) fn remove(&self, id: &SessionId) {
        lock(&self.table).by_id.remove(id);
    }
}

/// One conversation.
#[derive(Debug)]
pub(super) struct AcpSession {
    pub(super) options: SessionOptions,
    pub(super) policy: PermissionPolicy,
    pub(super) rules: Vec<PermissionRule>,
    pub(super) cwd: PathBuf,
    /// Which processes can serve it.
    pub(super) key: ProcessKey,
    state: Mutex<AcpSessionState>,
}

#[derive(Debug, Default)]
struct AcpSessionState {
    /// The process that has it.
    process: u64,
    turns: u64,
    busy: bool,
    stop: Arc<Notify>,
    /// What it consumed so far; `None` if it began before our time.
    total: Option<Usage>,
    cost: Option<f64>,
}

impl AcpSession {
    /// A session that this process has. `fresh`: that began now.
    pub(super) fn new(
        options: SessionOptions,
        (policy, rules): (PermissionPolicy, Vec<PermissionRule>),
        cwd: PathBuf,
        key: ProcessKey,
        (process, fresh): (u64, bool),
    ) -> Self {
        Self {
            options,
            policy,
            rules,
            cwd,
            key,
            state: Mutex::new(AcpSessionState {
                process,
                turns: u64::from(!fresh),
                total: fresh.then(Usage::default),
                cost: fresh.then_some(0.0),
                ..AcpSessionState::default()
            }),
        }
    }

    /// Counts a turn, and says how to find out that it is to be stopped.
    pub(super) fn begin_turn(&self) -> Arc<Notify> {
        let mut state = lock(&self.state);
        state.turns += 1;
        state.busy = true;
        // A stop that came too late for the last turn must not end this one.
        state.stop = Arc::default();
        Arc::clone(&state.stop)
    }

    pub(super) fn end_turn(&self) {
        lock(&self.state).busy = false;
    }

    fn is_busy(&self) -> bool {
        lock(&self.state).busy
    }

    /// Asks the turn under way to end.
    pub(super) fn stop(&self) {
        lock(&self.state).stop.notify_one();
    }

    /// The process that has it.
    pub(super) fn process(&self) -> u64 {
        lock(&self.state).process
    }

    /// Another process has it now.
    pub(super) fn set_process(&self, process: u64) {
        let mut state = lock(&self.state);
        state.process = process;
        // Whether a new process counts on from where the last one was, nobody knows.
        (state.total, state.cost) = (None, None);
    }

    /// Whether a turn has begun in it.
    pub(super) fn has_turns(&self) -> bool {
        lock(&self.state).turns > 0
    }

    /// Takes note of the new totals, and gives back the old ones.
    pub(super) fn update_totals(
        &self,
        total: Option<Usage>,
        cost: Option<f64>,
    ) -> (Option<Usage>, Option<f64>) {
        let mut state = lock(&self.state);
        let before = (state.total.take(), state.cost.take());
        state.total = total.or_else(|| before.0.clone());
        state.cost = cost.or(before.1);
        before
    }
}

/// A session that an agent keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Its name, for taking it up.
    pub id: SessionId,
    /// Where it works.
    pub cwd: PathBuf,
    /// What it is about, where the agent says so.
    pub title: Option<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
