//! The sessions that a backend knows.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use windlass_core::{
    Error, ErrorCode, PermissionPolicy, PermissionRule, Result, SessionId, SessionOptions, Usage,
};

use super::pool::ProcessKey;

/// Maximum number of known sessions; the least recently used one is evicted first.
const MAX_SESSIONS: usize = 256;

/// All sessions of one backend.
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
    /// Adds a session. If there are too many, an idle one is evicted.
    pub(super) fn insert(&self, id: SessionId, session: Arc<AcpSession>) -> Result<()> {
        let mut table = lock(&self.table);
        table.uses += 1;
        let last_used = table.uses;
        if table.by_id.len() >= MAX_SESSIONS && !table.by_id.contains_key(&id) {
            let idle = table
                .by_id
                .iter()
                .filter(|(_, (_, session))| !session.is_busy());
            let oldest = idle
                .min_by_key(|(_, (last_used, _))| *last_used)
                .map(|(id, _)| id.clone());
            let oldest = oldest.ok_or_else(|| {
                Error::agent(
                    ErrorCode::BackendError,
                    format!("all {MAX_SESSIONS} sessions are busy: wait for one to end"),
                )
            })?;
            table.by_id.remove(&oldest);
        }
        table.by_id.insert(id, (last_used, session));
        Ok(())
    }

    pub(super) fn get(&self, backend: &str, id: &SessionId) -> Result<Arc<AcpSession>> {
        let mut table = lock(&self.table);
        table.uses += 1;
        let now = table.uses;
        let known = table.by_id.get_mut(id).map(|(last_used, session)| {
            *last_used = now;
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
    /// Total usage so far; `None` if it is unknown because the session started elsewhere.
    total: Option<Usage>,
    cost: Option<f64>,
}

impl AcpSession {
    /// Creates a session that this process has. `fresh` means that it was created now.
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

    /// Counts a turn, and returns the notification that cancels it.
    pub(super) fn begin_turn(&self) -> Arc<Notify> {
        let mut state = lock(&self.state);
        state.turns += 1;
        state.busy = true;
        // A cancellation that came too late for the last turn must not end this one.
        state.stop = Arc::default();
        Arc::clone(&state.stop)
    }

    pub(super) fn end_turn(&self) {
        lock(&self.state).busy = false;
    }

    fn is_busy(&self) -> bool {
        lock(&self.state).busy
    }

    /// Cancels the running turn.
    pub(super) fn stop(&self) {
        lock(&self.state).stop.notify_one();
    }

    /// Returns the number of the process that has the session.
    pub(super) fn process(&self) -> u64 {
        lock(&self.state).process
    }

    /// Records that another process has the session now.
    pub(super) fn set_process(&self, process: u64) {
        let mut state = lock(&self.state);
        state.process = process;
        // A new process may or may not continue the counts of the last one.
        (state.total, state.cost) = (None, None);
    }

    /// Returns `true` if a turn was started in the session.
    pub(super) fn has_turns(&self) -> bool {
        lock(&self.state).turns > 0
    }

    /// Records new totals, and returns the old ones.
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

/// A session that an agent has stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Its ID, for resuming it.
    pub id: SessionId,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its title, if the agent reports one.
    pub title: Option<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
