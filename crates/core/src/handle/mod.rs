//! The one door to an agent: always `Send + Sync + Clone`, never harmed by what is behind it.

mod local;
mod receiver;
mod sender;
mod sequence;
mod truncate;
mod turn;
mod unwind;

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

pub use local::{LocalBackend, LocalEventStream};
pub use receiver::EventReceiver;

use crate::limits::{EVENT_QUEUE, PROMPT_BYTES, TurnLimits};
use crate::{
    AgentBackend, Capabilities, Clock, Error, Prompt, Result, SessionId, SessionOptions,
    SystemClock, TurnId,
};

/// An agent that can be prompted from anywhere.
///
/// A backend behind a handle cannot take its caller down: a panic becomes an error, a hang ends at the
/// deadline, and a turn always ends with one terminal event. Dropping an [`EventReceiver`] stops its turn.
#[derive(Clone)]
pub struct AgentHandle {
    agent: Arc<HandleInner>,
}

struct HandleInner {
    backend: Arc<dyn AgentBackend>,
    name: &'static str,
    limits: TurnLimits,
    clock: Arc<dyn Clock>,
    running: RunningTurns,
    extra: Option<Arc<dyn Any + Send + Sync>>,
}

impl AgentHandle {
    /// A handle to this backend.
    pub fn wrap(backend: impl AgentBackend + 'static) -> Self {
        Self::from_backend(Arc::new(backend))
    }

    /// A handle to a backend that cannot leave its thread: the factory is called on a thread of its own,
    /// which ends when the last handle and the last turn are gone.
    pub fn wrap_local<B, F>(factory: F) -> Result<Self>
    where
        B: LocalBackend + 'static,
        F: FnOnce() -> Result<B> + Send + 'static,
    {
        Ok(Self::from_backend(Arc::new(
            local::LocalBackendThread::start(factory)?,
        )))
    }

    fn from_backend(backend: Arc<dyn AgentBackend>) -> Self {
        Self {
            agent: Arc::new(HandleInner {
                name: unwind::catch(|| backend.name()).unwrap_or("unnamed"),
                backend,
                limits: TurnLimits::default(),
                clock: Arc::new(SystemClock::new()),
                running: RunningTurns::default(),
                extra: None,
            }),
        }
    }

    /// The same agent under other limits. Turns under way keep theirs.
    #[must_use]
    pub fn with_limits(&self, limits: TurnLimits) -> Self {
        self.with_inner(|agent| agent.limits = limits)
    }

    /// The same agent under another clock.
    #[must_use]
    pub fn with_clock(&self, clock: Arc<dyn Clock>) -> Self {
        self.with_inner(|agent| agent.clock = clock)
    }

    /// The same agent, with something more that it can do for those who know to ask for it.
    #[must_use]
    pub fn with_extra(&self, extra: impl Any + Send + Sync) -> Self {
        self.with_inner(|agent| agent.extra = Some(Arc::new(extra)))
    }

    /// What else the agent can do, if it is of this type.
    pub fn extra<T: Any>(&self) -> Option<&T> {
        self.agent.extra.as_deref()?.downcast_ref()
    }

    fn with_inner(&self, change: impl FnOnce(&mut HandleInner)) -> Self {
        let mut agent = HandleInner {
            backend: Arc::clone(&self.agent.backend),
            name: self.agent.name,
            limits: self.agent.limits,
            clock: Arc::clone(&self.agent.clock),
            running: self.agent.running.clone(),
            extra: self.agent.extra.clone(),
        };
        change(&mut agent);
        Self {
            agent: Arc::new(agent),
        }
    }

    /// A short name for logs and messages.
    pub fn name(&self) -> &'static str {
        self.agent.name
    }

    /// The limits that turns of this handle keep to.
    pub fn limits(&self) -> TurnLimits {
        self.agent.limits
    }

    /// What the agent can do.
    pub fn capabilities(&self) -> Capabilities {
        unwind::catch(|| self.agent.backend.capabilities()).unwrap_or_default()
    }

    /// Begins a conversation.
    pub async fn new_session(&self, options: SessionOptions) -> Result<SessionId> {
        let work = async { self.agent.backend.new_session(options).await };
        self.within_open_timeout("beginning a session", work).await
    }

    /// Takes up an earlier conversation.
    pub async fn load_session(&self, id: &SessionId, options: SessionOptions) -> Result<()> {
        let work = async { self.agent.backend.load_session(id, options).await };
        self.within_open_timeout("taking up a session", work).await
    }

    /// Begins a turn.
    ///
    /// An error here means that no turn began: the input was refused, or the session is busy. All that
    /// the agent itself does wrong comes as the turn's terminal event.
    pub async fn prompt(&self, id: &SessionId, prompt: impl Into<Prompt>) -> Result<EventReceiver> {
        let prompt = prompt.into();
        check(&prompt)?;
        let agent = &self.agent;
        let (turn, running) = agent.running.register(id)?;
        let span = tracing::info_span!(
            "prompt",
            backend = agent.name,
            session_id = %id,
            turn = turn.0,
            prompt_len = prompt.text.len(),
        );
        let (sender, receiver) = mpsc::channel(EVENT_QUEUE);
        let work = turn::TurnTask {
            backend: Arc::clone(&agent.backend),
            name: agent.name,
            clock: Arc::clone(&agent.clock),
            limits: agent.limits,
            session: id.clone(),
            id: turn,
            running,
        };
        tokio::spawn(work.run(prompt, sender).instrument(span));
        Ok(EventReceiver::new(
            receiver,
            Arc::clone(&agent.clock),
            id.clone(),
            turn,
        ))
    }

    /// Asks for the turn under way in this session to end. Without one there is nothing to do.
    ///
    /// The turn ends as [`Cancelled`](crate::ErrorCode::Cancelled), at the latest after the grace of the limits.
    pub async fn cancel(&self, id: &SessionId) -> Result<()> {
        self.agent.running.cancel(id);
        Ok(())
    }

    async fn within_open_timeout<T>(
        &self,
        what: &str,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let limit = self.agent.limits.open;
        tokio::select! {
            done = unwind::catch_async(work) => match done {
                Ok(result) => result,
                Err(panic) => Err(panic.into_error(self.agent.name)),
            },
            () = self.agent.clock.sleep(limit) => Err(Error::Timeout {
                what: format!("{what} with {}", self.agent.name),
                after: limit,
            }),
        }
    }
}

impl fmt::Debug for AgentHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentHandle")
            .field("name", &self.agent.name)
            .finish_non_exhaustive()
    }
}

/// Refuses what no agent could take.
fn check(prompt: &Prompt) -> Result<()> {
    if prompt.text.len() > PROMPT_BYTES {
        return Err(Error::InvalidInput(format!(
            "the prompt has {} bytes, the limit is {PROMPT_BYTES}: put the material into a file and name it",
            prompt.text.len(),
        )));
    }
    if let Some(at) = prompt.text.find('\0') {
        return Err(Error::InvalidInput(format!(
            "the prompt has a NUL character at byte {at}: remove it"
        )));
    }
    Ok(())
}

/// Which sessions are busy, how to stop them, and how many turns there were.
#[derive(Clone, Default)]
struct RunningTurns {
    state: Arc<Mutex<RunningTurnsState>>,
}

#[derive(Default)]
struct RunningTurnsState {
    last: u64,
    turns: HashMap<SessionId, CancellationToken>,
}

impl RunningTurns {
    fn register(&self, id: &SessionId) -> Result<(TurnId, TurnGuard)> {
        let mut state = self.lock();
        if state.turns.contains_key(id) {
            return Err(Error::SessionBusy {
                session: id.clone(),
            });
        }
        state.last += 1;
        let stop = CancellationToken::new();
        state.turns.insert(id.clone(), stop.clone());
        let turn = TurnGuard {
            stop,
            session: id.clone(),
            running: self.clone(),
        };
        Ok((TurnId(state.last), turn))
    }

    fn cancel(&self, id: &SessionId) {
        if let Some(stop) = self.lock().turns.get(id) {
            stop.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, RunningTurnsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn's entry among the running ones; dropping it frees the session.
struct TurnGuard {
    stop: CancellationToken,
    session: SessionId,
    running: RunningTurns,
}

impl Drop for TurnGuard {
    fn drop(&mut self) {
        self.running.lock().turns.remove(&self.session);
    }
}
