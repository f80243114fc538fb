//! The place that a key has: its session, who is in it, and when it was last used.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as Line, OwnedMutexGuard};
use tokio::task::AbortHandle;
use windlass_core::Clock;

use super::life::Life;

/// One key's place.
pub(super) struct Slot {
    /// Whoever has it prompts; the others stand in line.
    line: Arc<Line<State>>,
    /// The same session, for those who only look.
    life: Mutex<Option<Arc<Life>>>,
    used: Mutex<Duration>,
    /// Whoever waits for it to be unused for too long.
    watch: OnceLock<AbortHandle>,
}

/// What is in a place.
pub(super) enum State {
    /// Nothing yet.
    Empty,
    /// A session.
    Warm(Arc<Life>),
    /// Nothing any more: whoever waited looks for the key again.
    Gone,
}

impl Slot {
    pub(super) fn new(now: Duration) -> Arc<Self> {
        Arc::new(Self {
            line: Arc::new(Line::new(State::Empty)),
            life: Mutex::default(),
            used: Mutex::new(now),
            watch: OnceLock::new(),
        })
    }

    /// Waits until nobody else is in it.
    pub(super) async fn lock(self: &Arc<Self>) -> Place {
        let state = Arc::clone(&self.line).lock_owned().await;
        self.place(state)
    }

    /// The place, if nobody is in it.
    pub(super) fn try_lock(self: &Arc<Self>) -> Option<Place> {
        let state = Arc::clone(&self.line).try_lock_owned().ok()?;
        Some(self.place(state))
    }

    fn place(self: &Arc<Self>, state: OwnedMutexGuard<State>) -> Place {
        Place {
            state,
            slot: Arc::clone(self),
        }
    }

    /// Its session, without waiting.
    pub(super) fn life(&self) -> Option<Arc<Life>> {
        lock(&self.life).clone()
    }

    /// Is watched by this task for as long as it is there.
    pub(super) fn watched_by(&self, task: AbortHandle) {
        let _ = self.watch.set(task);
    }

    /// When somebody was in it last.
    pub(super) fn used(&self) -> Duration {
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
pub(super) struct Place {
    state: OwnedMutexGuard<State>,
    slot: Arc<Slot>,
}

impl Place {
    fn set(&mut self, state: State) {
        *lock(&self.slot.life) = match &state {
            State::Warm(life) => Some(Arc::clone(life)),
            _ => None,
        };
        *self.state = state;
    }

    /// Lets the session go, and with it its agent.
    pub(super) fn leave(&mut self) {
        self.set(State::Gone);
    }
}

impl Deref for Place {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

/// A place that somebody is in for the time of a turn.
pub(super) struct Seat {
    place: Place,
    clock: Arc<dyn Clock>,
}

impl Seat {
    pub(super) fn new(place: Place, clock: Arc<dyn Clock>) -> Self {
        Self { place, clock }
    }

    /// The session, if there is one.
    pub(super) fn life(&self) -> Option<Arc<Life>> {
        match &*self.place {
            State::Warm(life) => Some(Arc::clone(life)),
            _ => None,
        }
    }

    /// Keeps a new session here.
    pub(super) fn begin(&mut self, life: Life) -> Arc<Life> {
        let life = Arc::new(life);
        self.place.set(State::Warm(Arc::clone(&life)));
        life
    }

    /// The session is lost: the next turn begins another.
    pub(super) fn lose(&mut self) {
        self.place.set(State::Empty);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        *lock(&self.place.slot.used) = self.clock.elapsed();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
