//! The place that a key has: its session, who is in it, and when it was last used.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as Line, OwnedMutexGuard};
use tokio::task::AbortHandle;
use windlass_core::Clock;

use super::session::WarmSession;

/// One key's place.
pub(super) struct Slot {
    /// Whoever has it prompts; the others stand in line.
    line: Arc<Line<SlotState>>,
    /// The same session, for those who only look.
    life: Mutex<Option<Arc<WarmSession>>>,
    used: Mutex<Duration>,
    /// Whoever waits for it to be unused for too long.
    watch: OnceLock<AbortHandle>,
}

/// What is in a place.
pub(super) enum SlotState {
    /// Nothing yet.
    Empty,
    /// A session.
    Warm(Arc<WarmSession>),
    /// Nothing any more: whoever waited looks for the key again.
    Gone,
}

impl Slot {
    pub(super) fn new(now: Duration) -> Arc<Self> {
        Arc::new(Self {
            line: Arc::new(Line::new(SlotState::Empty)),
            life: Mutex::default(),
            used: Mutex::new(now),
            watch: OnceLock::new(),
        })
    }

    /// Waits until nobody else is in it.
    pub(super) async fn lock(self: &Arc<Self>) -> SlotGuard {
        let state = Arc::clone(&self.line).lock_owned().await;
        self.guard(state)
    }

    /// The place, if nobody is in it.
    pub(super) fn try_lock(self: &Arc<Self>) -> Option<SlotGuard> {
        let state = Arc::clone(&self.line).try_lock_owned().ok()?;
        Some(self.guard(state))
    }

    fn guard(self: &Arc<Self>, state: OwnedMutexGuard<SlotState>) -> SlotGuard {
        SlotGuard {
            state,
            slot: Arc::clone(self),
        }
    }

    /// Its session, without waiting.
    pub(super) fn session(&self) -> Option<Arc<WarmSession>> {
        lock(&self.life).clone()
    }

    /// Is watched by this task for as long as it is there.
    pub(super) fn set_expiry_task(&self, task: AbortHandle) {
        let _ = self.watch.set(task);
    }

    /// When somebody was in it last.
    pub(super) fn last_used(&self) -> Duration {
        *lock(&self.used)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(task) = self.watch.get() {
            task.abort();
        }
    }
}

/// The right to change what is in a place.
pub(super) struct SlotGuard {
    state: OwnedMutexGuard<SlotState>,
    slot: Arc<Slot>,
}

impl SlotGuard {
    fn set(&mut self, state: SlotState) {
        *lock(&self.slot.life) = match &state {
            SlotState::Warm(life) => Some(Arc::clone(life)),
            _ => None,
        };
        *self.state = state;
    }

    /// Lets the session go, and with it its agent.
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

/// A place that somebody is in for the time of a turn.
pub(super) struct TurnSlot {
    place: SlotGuard,
    clock: Arc<dyn Clock>,
}

impl TurnSlot {
    pub(super) fn new(place: SlotGuard, clock: Arc<dyn Clock>) -> Self {
        Self { place, clock }
    }

    /// The session, if there is one.
    pub(super) fn session(&self) -> Option<Arc<WarmSession>> {
        match &*self.place {
            SlotState::Warm(life) => Some(Arc::clone(life)),
            _ => None,
        }
    }

    /// Keeps a new session here.
    pub(super) fn start_session(&mut self, life: WarmSession) -> Arc<WarmSession> {
        let life = Arc::new(life);
        self.place.set(SlotState::Warm(Arc::clone(&life)));
        life
    }

    /// The session is lost: the next turn begins another.
    pub(super) fn drop_session(&mut self) {
        self.place.set(SlotState::Empty);
    }
}

impl Drop for TurnSlot {
    fn drop(&mut self) {
        *lock(&self.place.slot.used) = self.clock.elapsed();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
