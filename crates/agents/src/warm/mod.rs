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
mod turn;
mod turn_slot;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use windlass_core::{
    AgentHandle, AgentRegistry, Clock, Error, ErrorCode, Prompt, Result, SessionId, SessionOptions,
    SystemClock,
};

pub use turn::WarmTurn;

use session::WarmSession;
use turn_slot::TurnSlot;

use crate::program::pool::{Pool, PoolLimits};

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

/// A prompt for a session that may be lost.
#[derive(Debug, Clone, PartialEq)]
pub struct WarmPrompt {
    /// The prompt.
    pub prompt: Prompt,
    /// What is sent instead if the session is a new one: the prompt after a summary of the conversation.
    pub in_new_session: Option<Prompt>,
}

impl WarmPrompt {
    /// Creates a prompt that is the same in a new session.
    pub fn new(prompt: impl Into<Prompt>) -> Self {
        Self {
            prompt: prompt.into(),
            in_new_session: None,
        }
    }

    /// Returns the prompt for a new session.
    fn for_new_session(&self) -> &Prompt {
        self.in_new_session.as_ref().unwrap_or(&self.prompt)
    }
}

/// Creates the agent of one session.
type AgentFactory = dyn Fn() -> Result<AgentHandle> + Send + Sync;

/// Keeps one session per key. Dropping it closes all of them.
#[derive(Clone)]
pub struct WarmSessionManager {
    make: Arc<AgentFactory>,
    limits: WarmLimits,
    clock: Arc<dyn Clock>,
    sessions: Pool<String, Arc<WarmSession>>,
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

    /// Creates a manager that takes agents from the registry, by backend name and configuration.
    pub fn from_registry(registry: Arc<AgentRegistry>, backend_name: &str, config: Value) -> Self {
        let name = backend_name.to_owned();
        Self::new(move || registry.create(&name, &config))
    }

    /// Creates a manager with one agent for all sessions. The agent then manages its processes itself.
    pub fn with_shared_agent(handle: AgentHandle) -> Self {
        Self::new(move || Ok(handle.clone()))
    }

    /// Returns an empty manager with the same agents and clock, and these limits.
    ///
    /// An agent's process may end before its session is closed:
    /// [`AgentContext::with_idle_timeout`](crate::AgentContext::with_idle_timeout) sets how long it waits.
    #[must_use]
    pub fn with_limits(self, limits: WarmLimits) -> Self {
        Self::with(self.make, limits, self.clock)
    }

    /// Returns an empty manager with the same agents and limits, and this clock.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self::with(self.make, self.limits, clock)
    }

    fn with(make: Arc<AgentFactory>, limits: WarmLimits, clock: Arc<dyn Clock>) -> Self {
        let pool_limits = PoolLimits {
            idle: limits.idle,
            kept: limits.sessions.max(1),
        };
        Self {
            make,
            limits,
            sessions: Pool::new(Arc::clone(&clock), pool_limits),
            clock,
        }
    }

    /// Starts a turn in the session of this key. Creates the session if necessary.
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
        self.start_turn(key, options, WarmPrompt::new(prompt)).await
    }

    /// Like [`prompt`](Self::prompt), with another prompt for a new session.
    pub async fn start_turn(
        &self,
        key: &str,
        options: SessionOptions,
        prompt: WarmPrompt,
    ) -> Result<WarmTurn> {
        let (session, slot) = self.acquire(key, &options).await?;
        session.reconfigure(&options).await?;
        WarmTurn::start(session, prompt, slot, Arc::clone(&self.clock)).await
    }

    /// Resumes an earlier session of the agent as the session of this key. Fails if the agent cannot, and if the key
    /// has a session already.
    pub async fn resume(
        &self,
        key: &str,
        options: SessionOptions,
        session: SessionId,
    ) -> Result<()> {
        let key = key.to_owned();
        if self.sessions.get(&key).is_some() {
            return Err(Error::SessionBusy { session });
        }
        let start = async {
            let agent = (self.make)()?.scoped();
            WarmSession::resume(agent, options, session)
                .await
                .map(Arc::new)
        };
        self.sessions.get_or_start(&key, start).await?;
        self.sessions.start_idle_timer(&key);
        Ok(())
    }

    /// Cancels the running turn in this key's session, if any.
    pub async fn cancel(&self, key: &str) -> Result<()> {
        match self.sessions.get(&key.to_owned()) {
            Some(session) => session.cancel().await,
            None => Ok(()),
        }
    }

    /// Closes this key's session, after the running turn if there is one.
    pub async fn remove(&self, key: &str) {
        let key = key.to_owned();
        if let Some(session) = self.sessions.get(&key) {
            let _turn = session.lock_turn().await;
            self.sessions
                .remove_if(&key, |now| Arc::ptr_eq(now, &session));
        }
    }

    /// Returns the session of this key, if there is one.
    pub fn session(&self, key: &str) -> Option<SessionId> {
        Some(self.sessions.get(&key.to_owned())?.session())
    }

    /// Returns the number of sessions.
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Returns `true` if there are no sessions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the key's session, locked for a turn. Creating a session may close another.
    async fn acquire(
        &self,
        key: &str,
        options: &SessionOptions,
    ) -> Result<(Arc<WarmSession>, TurnSlot)> {
        let key = key.to_owned();
        loop {
            if !self.sessions.has_space_for(&key) {
                return Err(Error::agent(
                    ErrorCode::BackendError,
                    format!(
                        "all {} warm sessions are in use: wait for a turn to end, or raise the limit",
                        self.len()
                    ),
                ));
            }
            let start = async {
                // Keys do not share processes, even if they share an agent.
                let agent = (self.make)()?.scoped();
                WarmSession::start(agent, options.clone())
                    .await
                    .map(Arc::new)
            };
            let session = self.sessions.get_or_start(&key, start).await?;
            let turn = session.lock_turn().await;
            // The session may have been closed meanwhile; the key may have a new one.
            let now = self.sessions.get(&key);
            if now.is_some_and(|now| Arc::ptr_eq(&now, &session)) {
                let sessions = self.sessions.clone();
                let slot = TurnSlot::new(turn, sessions, key, Arc::clone(&session));
                return Ok((session, slot));
            }
        }
    }
}

impl fmt::Debug for WarmSessionManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WarmSessionManager")
            .field("limits", &self.limits)
            .field("sessions", &self.len())
            .finish_non_exhaustive()
    }
}
