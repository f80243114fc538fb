//! The slot of a key: its session, its lock, and the time of its last use.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::OwnedMutexGuard;
use tokio::task::AbortHandle;
use windlass_core::Clock;

use super::session::WarmSession;

/// The slot of one key.
pub(super) struct Slot {
    /// The holder of this lock runs a turn; other prompts of the key wait for it.
    state: Arc<tokio::sync::Mutex<SlotState>>,
    /// The same session, readable without the lock.
    session: Mutex<Option<Arc<WarmSession>>>,
    last_used: Mutex<Duration>,
    /// The task that closes the session when it was idle for too long.
    expiry_task: OnceLock<AbortHandle>,
}

/// Content of a slot.
pub(super) enum SlotState {
    /// No session yet.
    Empty,
    /// An open session.
    Warm(Arc<WarmSession>),
    /// The slot was closed. A task that waited for its lock looks up the key again.
    Gone,
}

impl Slot {
    pub(super) fn new(now: Duration) -> Arc<Self> {
        Arc::new(Self {
            state: Arc::new(tokio::sync::Mutex::new(SlotState::Empty)),
            session: Mutex::default(),
            last_used: Mutex::new(now),
            expiry_task: OnceLock::new(),
        })
    }

    /// Waits until the slot is free, and locks it.
    pub(super) async fn lock(self: &Arc<Self>) -> SlotGuard {
        let state = Arc::clone(&self.state).lock_owned().await;
        self.guard(state)
    }

    /// Locks the slot, if it is free.
    pub(super) fn try_lock(self: &Arc<Self>) -> Option<SlotGuard> {
        let state = Arc::clone(&self.state).try_lock_owned().ok()?;
        Some(self.guard(state))
    }

    fn guard(self: &Arc<Self>, state: OwnedMutexGuard<SlotState>) -> SlotGuard {
        SlotGuard {
            state,
            slot: Arc::clone(self),
        }
    }

    /// Returns the session without waiting.
    pub(super) fn session(&self) -> Option<Arc<WarmSession>> {
        lock(&self.session).clone()
    }

    /// Sets the task that expires this slot; it is aborted when the slot is dropped.
    pub(super) fn set_expiry_task(&self, task: AbortHandle) {
        let _ = self.expiry_task.set(task);
    }

    /// Returns the time of the last use.
    pub(super) fn last_used(&self) -> Duration {
        *lock(&self.last_used)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(task) = self.expiry_task.get() {
            task.abort();
        }
    }
}

/// Exclusive access to the content of a slot.
pub(super) struct SlotGuard {
    state: OwnedMutexGuard<SlotState>,
    slot: Arc<Slot>,
}

impl SlotGuard {
    fn set(&mut self, state: SlotState) {
        *lock(&self.slot.session) = match &state {
            SlotState::Warm(session) => Some(Arc::clone(session)),
            _ => None,
        };
        *self.state = state;
    }

    /// Closes the session, and with it its agent.
    pub(super) fn clear(&mut self) {
        self.set(SlotState::Gone);
    }
}

impl Deref for SlotGuard {
    type Target = SlotState;

    fn deref(&self) -> &SlotState {
        &self.state
    }
}

/// A slot that is locked for the duration of a turn.
pub(super) struct TurnSlot {
    guard: SlotGuard,
    clock: Arc<dyn Clock>,
}

impl TurnSlot {
    pub(super) fn new(guard: SlotGuard, clock: Arc<dyn Clock>) -> Self {
        Self { guard, clock }
    }

    /// Returns the session, if there is one.
    pub(super) fn session(&self) -> Option<Arc<WarmSession>> {
        match &*self.guard {
            SlotState::Warm(session) => Some(Arc::clone(session)),
            _ => None,
        }
    }

    /// Stores a new session.
    pub(super) fn start_session(&mut self, session: WarmSession) -> Arc<WarmSession> {
        let session = Arc::new(session);
        self.guard.set(SlotState::Warm(Arc::clone(&session)));
        session
    }

    /// Drops a lost session: the next turn creates another.
    pub(super) fn drop_session(&mut self) {
        self.guard.set(SlotState::Empty);
    }
}

impl Drop for TurnSlot {
    fn drop(&mut self) {
        *lock(&self.guard.slot.last_used) = self.clock.elapsed();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
