//! A session that is locked for the duration of a turn.

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;

use super::session::WarmSession;
use crate::program::pool::Pool;

/// The lock of a session. Dropping it lets the next prompt of the key run, and starts the session's idle timer.
pub(super) struct TurnSlot {
    _turn: OwnedMutexGuard<()>,
    sessions: Pool<String, Arc<WarmSession>>,
    key: String,
    session: Arc<WarmSession>,
}

impl TurnSlot {
    pub(super) fn new(
        turn: OwnedMutexGuard<()>,
        sessions: Pool<String, Arc<WarmSession>>,
        key: String,
        session: Arc<WarmSession>,
    ) -> Self {
        Self {
            _turn: turn,
            sessions,
            key,
            session,
        }
    }

    /// Drops a lost session: the next turn creates another.
    pub(super) fn drop_session(&self) {
        let is_this = |now: &Arc<WarmSession>| Arc::ptr_eq(now, &self.session);
        self.sessions.remove_if(&self.key, is_this);
    }
}

impl Drop for TurnSlot {
    fn drop(&mut self) {
        self.sessions.start_idle_timer(&self.key);
    }
}
