//! Sessions, and their agent processes, that stay open between prompts.
//!
//! A conversation is identified by a key: a chat room, a user, an editor window. Its first prompt creates a
//! session with a dedicated agent; later prompts reuse both. Prompts for the same key run sequentially. A
//! session that was idle for too long is closed, and if there are too many sessions, the least recently used
//! one is closed; its agent's processes end with it. If an agent died between two prompts, the next prompt does
//! not fail: the session is resumed where the agent supports that, and is otherwise recreated, which the turn
//! reports with [`SessionChanged`](windlass_core::AgentEvent).
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
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use windlass_core::{
    AgentHandle, AgentRegistry, Clock, Error, ErrorCode, Prompt, Result, SessionId, SessionOptions,
    SystemClock,
};

use session::WarmSession;
use slot::{Slot, SlotState, TurnSlot};
pub use turn::WarmTurn;

/// Limits on the idle time and the number of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmLimits {
    /// Idle time after which a session is closed.
    pub idle: Duration,
    /// Maximum number of sessions; beyond it, the least recently used one is closed.
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

/// Creates the agent of one session.
type AgentFactory = dyn Fn() -> Result<AgentHandle> + Send + Sync;

/// Keeps one session per key. Dropping it closes all of them.
#[derive(Clone)]
pub struct WarmSessionManager {
    state: Arc<ManagerState>,
}

/// State shared by the manager and its expiry tasks.
struct ManagerState {
    make: Arc<AgentFactory>,
    limits: WarmLimits,
    clock: Arc<dyn Clock>,
    slots: Mutex<HashMap<String, Arc<Slot>>>,
}

impl WarmSessionManager {
    /// Creates a manager that calls `make` for the agent of each session.
    pub fn new(make: impl Fn() -> Result<AgentHandle> + Send + Sync + 'static) -> Self {
        Self::with(
            Arc::new(make),
            WarmLimits::default(),
            Arc::new(SystemClock::new()),
        )
    }

    /// Creates a manager whose agents come from the registry, by backend name and configuration.
    pub fn from_registry(registry: Arc<AgentRegistry>, backend_name: &str, config: Value) -> Self {
        let name = backend_name.to_owned();
        Self::new(move || registry.create(&name, &config))
    }

    /// Creates a manager whose sessions share one agent, which then manages its processes itself.
    pub fn with_shared_agent(handle: AgentHandle) -> Self {
        Self::new(move || Ok(handle.clone()))
    }

    /// Returns an empty manager with the same agents and clock, and these limits.
    ///
    /// An agent's process may end before its session is closed:
    /// [`AgentContext::with_idle_timeout`](crate::AgentContext::with_idle_timeout) sets how long it waits.
    #[must_use]
    pub fn with_limits(self, limits: WarmLimits) -> Self {
        let state = &self.state;
        Self::with(Arc::clone(&state.make), limits, Arc::clone(&state.clock))
    }

    /// Returns an empty manager with the same agents and limits, and this clock.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self::with(Arc::clone(&self.state.make), self.state.limits, clock)
    }

    fn with(make: Arc<AgentFactory>, limits: WarmLimits, clock: Arc<dyn Clock>) -> Self {
        Self {
            state: Arc::new(ManagerState {
                make,
                limits,
                clock,
                slots: Mutex::default(),
            }),
        }
    }

    /// Starts a turn in the session of this key, and creates the session if there is none.
    ///
    /// Waits while another prompt of the same key is running; dropping the future leaves the queue. If the
    /// options differ from the last ones, the session is resumed with the new ones, where the agent supports
    /// that.
    pub async fn prompt(
        &self,
        key: &str,
        options: SessionOptions,
        prompt: impl Into<Prompt>,
    ) -> Result<WarmTurn> {
        let prompt = prompt.into();
        let mut turn_slot = self.acquire(key).await?;
        let session = match turn_slot.session() {
            Some(session) => {
                session.reconfigure(&options).await?;
                session
            }
            None => {
                // Keys do not share processes, even if they share an agent.
                let agent = (self.state.make)()?.scoped();
                let session = WarmSession::start(agent, options).await?;
                turn_slot.start_session(session)
            }
        };
        WarmTurn::start(session, prompt, turn_slot, Arc::clone(&self.state.clock)).await
    }

    /// Cancels the running turn in this key's session. Does nothing if there is none.
    pub async fn cancel(&self, key: &str) -> Result<()> {
        let slot = self.state.lock().get(key).cloned();
        match slot.and_then(|slot| slot.session()) {
            Some(session) => session.cancel().await,
            None => Ok(()),
        }
    }

    /// Closes this key's session, after the running turn if there is one.
    pub async fn remove(&self, key: &str) {
        let slot = self.state.lock().get(key).cloned();
        if let Some(slot) = slot {
            let guard = slot.lock().await;
            self.state.clear(key, &slot, guard);
        }
    }

    /// Returns the session of this key, if there is one.
    pub fn session(&self, key: &str) -> Option<SessionId> {
        let slot = self.state.lock().get(key).cloned();
        Some(slot?.session()?.session())
    }

    /// Returns the number of sessions.
    pub fn len(&self) -> usize {
        self.state.lock().len()
    }

    /// Returns `true` if there are no sessions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until the key's slot is free, and locks it.
    async fn acquire(&self, key: &str) -> Result<TurnSlot> {
        loop {
            let slot = self.state.slot(key)?;
            let guard = slot.lock().await;
            // The slot was closed while we waited; the key may have a new one.
            if !matches!(*guard, SlotState::Gone) {
                return Ok(TurnSlot::new(guard, Arc::clone(&self.state.clock)));
            }
        }
    }
}

impl ManagerState {
    /// Returns the key's slot, and creates it if necessary. Creating one may evict another.
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
        let expiry = expire(Arc::downgrade(self), key.to_owned(), Arc::downgrade(&slot));
        slot.set_expiry_task(tokio::spawn(expiry).abort_handle());
        Ok(slot)
    }

    /// Closes the least recently used session that is not in use.
    fn evict_oldest(&self, slots: &mut HashMap<String, Arc<Slot>>) -> Result<()> {
        let free = slots
            .iter()
            .filter_map(|(key, slot)| Some((slot.last_used(), key.clone(), slot.try_lock()?)));
        let Some((_, key, mut guard)) = free.min_by_key(|(used, ..)| *used) else {
            return Err(Error::agent(
                ErrorCode::BackendError,
                format!(
                    "all {} warm sessions are in use: wait for a turn to end, or raise the limit",
                    slots.len()
                ),
            ));
        };
        guard.clear();
        slots.remove(&key);
        Ok(())
    }

    /// Closes a session whose slot is locked by the caller.
    fn clear(&self, key: &str, slot: &Arc<Slot>, mut guard: slot::SlotGuard) {
        guard.clear();
        let mut slots = self.lock();
        if slots.get(key).is_some_and(|now| Arc::ptr_eq(now, slot)) {
            slots.remove(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Slot>>> {
        self.slots.lock()
    }
}

/// Closes a session that was idle for too long.
async fn expire(state: Weak<ManagerState>, key: String, slot: Weak<Slot>) {
    let mut wait = None;
    loop {
        let Some(sleep) = state
            .upgrade()
            .map(|state| state.clock.sleep(wait.unwrap_or(state.limits.idle)))
        else {
            return;
        };
        sleep.await;
        let Some(slot) = slot.upgrade() else {
            return;
        };
        // Waits for the running turn and for those queued behind it.
        let guard = slot.lock().await;
        let Some(state) = state.upgrade() else {
            return;
        };
        let unused = state.clock.elapsed().saturating_sub(slot.last_used());
        if unused >= state.limits.idle || matches!(*guard, SlotState::Gone) {
            state.clear(&key, &slot, guard);
            return;
        }
        wait = Some(state.limits.idle - unused);
    }
}

impl fmt::Debug for WarmSessionManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WarmSessionManager")
            .field("limits", &self.state.limits)
            .field("sessions", &self.len())
            .finish_non_exhaustive()
    }
}
