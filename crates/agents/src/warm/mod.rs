//! Sessions that are kept for whoever comes back to them, and with them the agents' processes.
//!
//! A conversation is known by a key: a chat room, a user, an editor's window. Its first prompt begins a session with an
//! agent of its own; the next ones find both warm. Two prompts for one key come one after the other. A session that
//! nobody used for a while is let go, and so is the one that waited longest when there are too many; the agent's
//! processes end with it. An agent that died meanwhile is no reason to fail: its session is taken up again where the
//! agent can, and is otherwise begun anew, which the turn says by [`SessionChanged`](windlass_core::AgentEvent).
//!
//! ```no_run
//! use windlass_agents::warm::WarmSessionManager;
//! use windlass_agents::{AgentContext, claude};
//! use windlass_core::SessionOptions;
//!
//! # async fn example(context: AgentContext) -> windlass_core::Result<()> {
//! let make = claude::factory(context);
//! let warm = WarmSessionManager::new(move || make(&serde_json::json!({})));
//! let options = SessionOptions::in_dir("/home/me/project");
//! warm.prompt("room 7", options.clone(), "What is this?").await?.collect().await;
//! warm.prompt("room 7", options, "And why?").await?.collect().await;
//! # Ok(())
//! # }
//! ```

mod session;
mod slot;
mod turn;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use serde_json::Value;
use windlass_core::{
    AgentHandle, AgentRegistry, Clock, Error, ErrorCode, Prompt, Result, SessionId, SessionOptions,
    SystemClock,
};

use session::WarmSession;
use slot::{Slot, SlotState, TurnSlot};
pub use turn::WarmTurn;

/// How long sessions are kept, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmLimits {
    /// A session that nobody used for so long is let go.
    pub idle: Duration,
    /// How many there are at once; the one that was used least recently makes room.
    pub sessions: usize,
}

impl Default for WarmLimits {
    /// Ten minutes, 16 sessions.
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(600),
            sessions: 16,
        }
    }
}

/// Makes the agent of one session.
type AgentFactory = dyn Fn() -> Result<AgentHandle> + Send + Sync;

/// Keeps a session for each key. Dropping it lets all of them go.
#[derive(Clone)]
pub struct WarmSessionManager {
    room: Arc<ManagerState>,
}

/// What the manager and its clocks share.
struct ManagerState {
    make: Arc<AgentFactory>,
    limits: WarmLimits,
    clock: Arc<dyn Clock>,
    slots: Mutex<HashMap<String, Arc<Slot>>>,
}

impl WarmSessionManager {
    /// Sessions with agents that this makes, one for each.
    pub fn new(make: impl Fn() -> Result<AgentHandle> + Send + Sync + 'static) -> Self {
        Self::with(
            Arc::new(make),
            WarmLimits::default(),
            Arc::new(SystemClock::new()),
        )
    }

    /// Sessions with the backend of this name, as this table configures it.
    pub fn from_registry(registry: Arc<AgentRegistry>, backend_name: &str, config: Value) -> Self {
        let name = backend_name.to_owned();
        Self::new(move || registry.create(&name, &config))
    }

    /// Sessions that share one agent, whose processes are then its own affair.
    pub fn with_shared_agent(handle: AgentHandle) -> Self {
        Self::new(move || Ok(handle.clone()))
    }

    /// The same without any session yet, under other limits.
    ///
    /// An agent's process may end before its session is let go: `AgentContext::keep_warm` says how long it waits.
    #[must_use]
    pub fn with_limits(self, limits: WarmLimits) -> Self {
        let room = &self.room;
        Self::with(Arc::clone(&room.make), limits, Arc::clone(&room.clock))
    }

    /// The same without any session yet, under another clock.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self::with(Arc::clone(&self.room.make), self.room.limits, clock)
    }

    fn with(make: Arc<AgentFactory>, limits: WarmLimits, clock: Arc<dyn Clock>) -> Self {
        Self {
            room: Arc::new(ManagerState {
                make,
                limits,
                clock,
                slots: Mutex::default(),
            }),
        }
    }

    /// Begins a turn in the session of this key, which is begun first if there is none.
    ///
    /// Waits while another prompt of the same key is under way; dropping the future gives up the place in the line.
    /// With other options than last time, the session is taken up with them, where the agent can.
    pub async fn prompt(
        &self,
        key: &str,
        options: SessionOptions,
        prompt: impl Into<Prompt>,
    ) -> Result<WarmTurn> {
        let prompt = prompt.into();
        let mut seat = self.acquire(key).await?;
        let life = match seat.session() {
            Some(life) => {
                life.reconfigure(&options).await?;
                life
            }
            None => {
                let life = WarmSession::start((self.room.make)()?, options).await?;
                seat.start_session(life)
            }
        };
        WarmTurn::start(life, prompt, seat, Arc::clone(&self.room.clock)).await
    }

    /// Asks for the turn under way in this key's session to end. Without one there is nothing to do.
    pub async fn cancel(&self, key: &str) -> Result<()> {
        let slot = self.room.lock().get(key).cloned();
        match slot.and_then(|slot| slot.session()) {
            Some(life) => life.cancel().await,
            None => Ok(()),
        }
    }

    /// Lets this key's session go, after the turn under way if there is one.
    pub async fn remove(&self, key: &str) {
        let slot = self.room.lock().get(key).cloned();
        if let Some(slot) = slot {
            let state = slot.lock().await;
            self.room.clear(key, &slot, state);
        }
    }

    /// The session of this key, if it is warm.
    pub fn session(&self, key: &str) -> Option<SessionId> {
        let slot = self.room.lock().get(key).cloned();
        Some(slot?.session()?.session())
    }

    /// How many sessions are warm.
    pub fn len(&self) -> usize {
        self.room.lock().len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key's place, once nobody else is in it.
    async fn acquire(&self, key: &str) -> Result<TurnSlot> {
        loop {
            let slot = self.room.slot(key)?;
            let state = slot.lock().await;
            // It was let go while we waited, and there may be another by now.
            if !matches!(*state, SlotState::Gone) {
                return Ok(TurnSlot::new(state, Arc::clone(&self.room.clock)));
            }
        }
    }
}

impl ManagerState {
    /// The key's slot, for which another may have to make room.
    fn slot(self: &Arc<Self>, key: &str) -> Result<Arc<Slot>> {
        let mut slots = self.lock();
        if let Some(slot) = slots.get(key) {
            return Ok(Arc::clone(slot));
        }
        while slots.len() >= self.limits.sessions.max(1) {
            self.evict_oldest(&mut slots)?;
        }
        let slot = Slot::new(self.clock.elapsed());
        slots.insert(key.to_owned(), Arc::clone(&slot));
        let watch = expire(Arc::downgrade(self), key.to_owned(), Arc::downgrade(&slot));
        slot.set_expiry_task(tokio::spawn(watch).abort_handle());
        Ok(slot)
    }

    /// Lets the session go that was used least recently and is not in use.
    fn evict_oldest(&self, slots: &mut HashMap<String, Arc<Slot>>) -> Result<()> {
        let free = slots
            .iter()
            .filter_map(|(key, slot)| Some((slot.last_used(), key.clone(), slot.try_lock()?)));
        let Some((_, key, mut state)) = free.min_by_key(|(used, ..)| *used) else {
            return Err(Error::agent(
                ErrorCode::BackendError,
                format!(
                    "all {} warm sessions are in use: wait for one to end, or allow for more",
                    slots.len()
                ),
            ));
        };
        state.clear();
        slots.remove(&key);
        Ok(())
    }

    /// Lets a session go whose place nobody else is in.
    fn clear(&self, key: &str, slot: &Arc<Slot>, mut state: slot::SlotGuard) {
        state.clear();
        let mut slots = self.lock();
        if slots.get(key).is_some_and(|now| Arc::ptr_eq(now, slot)) {
            slots.remove(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets a session go when nobody has used it for long enough.
async fn expire(room: Weak<ManagerState>, key: String, slot: Weak<Slot>) {
    let mut wait = None;
    loop {
        let Some(sleep) = room
            .upgrade()
            .map(|room| room.clock.sleep(wait.unwrap_or(room.limits.idle)))
        else {
            return;
        };
        sleep.await;
        let Some(slot) = slot.upgrade() else {
            return;
        };
        // After a turn that is under way, and after those that wait for it.
        let state = slot.lock().await;
        let Some(room) = room.upgrade() else {
            return;
        };
        let unused = room.clock.elapsed().saturating_sub(slot.last_used());
        if unused >= room.limits.idle || matches!(*state, SlotState::Gone) {
            room.clear(&key, &slot, state);
            return;
        }
        wait = Some(room.limits.idle - unused);
    }
}

impl fmt::Debug for WarmSessionManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WarmSessionManager")
            .field("limits", &self.room.limits)
            .field("sessions", &self.len())
            .finish_non_exhaustive()
    }
}
