//! [`AgentHandle`]: the `Send + Sync + Clone` front of a backend. A misbehaving backend cannot harm its
//! caller.

mod local;
mod receiver;
mod sender;
mod sequence;
mod truncate;
mod turn;
mod turn_end;
mod unwind;

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

pub use local::{LocalBackend, LocalEventStream};
pub use receiver::EventReceiver;

use crate::limits::{CLOSE_TIMEOUT, EVENT_QUEUE, PROMPT_BYTES, TurnLimits};
use crate::mask::MaskedApprover;
use crate::structured::{SchemaMode, SchemaSetting, schema_mode_for};
use crate::{
    AgentBackend, Capabilities, Clock, EditMode, Error, Masker, Prompt, Result, SessionId,
    SessionOptions, SystemClock, TurnId,
};

/// A handle to an agent that can be prompted from any task.
///
/// A backend cannot crash or block its caller: a panic becomes an error, a hang ends at the deadline, and
/// a turn always ends with one terminal event. Dropping an [`EventReceiver`] stops its turn.
#[derive(Clone)]
pub struct AgentHandle {
    inner: Arc<HandleInner>,
}

struct HandleInner {
    backend: Arc<dyn AgentBackend>,
    name: &'static str,
    limits: TurnLimits,
    masker: Masker,
    /// How a schema is enforced, as configured.
    schema: SchemaSetting,
    clock: Arc<dyn Clock>,
    running: RunningTurns,
    extra: Option<Arc<dyn Any + Send + Sync>>,
}

impl AgentHandle {
    /// Creates a handle to the given backend.
    pub fn wrap(backend: impl AgentBackend + 'static) -> Self {
        Self::from_backend(Arc::new(backend))
    }

    /// Creates a handle to a backend that is not `Send`. The factory is called on a separate thread, which
    /// ends when the last handle and the last turn are gone.
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
            inner: Arc::new(HandleInner {
                name: unwind::catch(|| backend.name()).unwrap_or("unnamed"),
                backend,
                limits: TurnLimits::default(),
                masker: Masker::default(),
                schema: SchemaSetting::Auto,
                clock: Arc::new(SystemClock::new()),
                running: RunningTurns::default(),
                extra: None,
            }),
        }
    }

    /// Returns a handle to the same agent with other limits. Running turns keep their limits.
    #[must_use]
    pub fn with_limits(&self, limits: TurnLimits) -> Self {
        self.with_inner(|inner| inner.limits = limits)
    }

    /// Returns a handle to the same agent that masks secrets in all events, errors and permission requests.
    #[must_use]
    pub fn with_masker(&self, masker: Masker) -> Self {
        self.with_inner(|inner| inner.masker = masker)
    }

    /// Returns a handle to the same agent with a configured way to enforce schemas.
    #[must_use]
    pub fn with_schema_setting(&self, schema: SchemaSetting) -> Self {
        self.with_inner(|inner| inner.schema = schema)
    }

    /// Returns a handle to the same agent with another clock.
    #[must_use]
    pub fn with_clock(&self, clock: Arc<dyn Clock>) -> Self {
        self.with_inner(|inner| inner.clock = clock)
    }

    /// Returns a handle to the same agent with an extension: a value that callers can read with
    /// [`Self::extra`].
    #[must_use]
    pub fn with_extra(&self, extra: impl Any + Send + Sync) -> Self {
        self.with_inner(|inner| inner.extra = Some(Arc::new(extra)))
    }

    /// Returns the extension of the agent, if it has this type.
    pub fn extra<T: Any>(&self) -> Option<&T> {
        self.inner.extra.as_deref()?.downcast_ref()
    }

    /// Returns a handle with the same settings to another backend around this one, such as one that records it.
    #[must_use]
    pub fn wrapped_in<B: AgentBackend + 'static>(
        &self,
        wrap: impl FnOnce(Arc<dyn AgentBackend>) -> B,
    ) -> Self {
        let backend = Arc::new(wrap(Arc::clone(&self.inner.backend)));
        self.with_inner(|inner| inner.backend = backend)
    }

    fn with_inner(&self, change: impl FnOnce(&mut HandleInner)) -> Self {
        let mut inner = HandleInner {
            backend: Arc::clone(&self.inner.backend),
            name: self.inner.name,
            limits: self.inner.limits,
            masker: self.inner.masker.clone(),
            schema: self.inner.schema,
            clock: Arc::clone(&self.inner.clock),
            running: self.inner.running.clone(),
            extra: self.inner.extra.clone(),
        };
        change(&mut inner);
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Returns a short name for logs and messages.
    pub fn name(&self) -> &'static str {
        self.inner.name
    }

    /// Returns the masker of this handle.
    pub fn masker(&self) -> &Masker {
        &self.inner.masker
    }

    /// Returns the limits of this handle's turns.
    pub fn limits(&self) -> TurnLimits {
        self.inner.limits
    }

    /// Returns what the agent supports.
    pub fn capabilities(&self) -> Capabilities {
        unwind::catch(|| self.inner.backend.capabilities()).unwrap_or_default()
    }

    /// Returns how a schema is enforced: as requested, otherwise as configured, otherwise in the best way that the
    /// agent supports.
    pub fn schema_mode(&self, requested: SchemaSetting) -> SchemaMode {
        let setting = match requested {
            SchemaSetting::Auto => self.inner.schema,
            requested => requested,
        };
        schema_mode_for(setting, self.capabilities())
    }

    /// Returns how the agent changes files best, with this model if the caller chose one.
    pub fn edit_mode(&self, model: Option<&str>) -> EditMode {
        unwind::catch(|| self.inner.backend.edit_mode(model)).unwrap_or(EditMode::Tools)
    }

    /// Returns `true` if another agent can go on after a turn that failed.
    pub fn has_alternative(&self) -> bool {
        unwind::catch(|| self.inner.backend.has_alternative()).unwrap_or(false)
    }

    /// Returns how many tokens a prompt and its answer may have together, if that is known.
    pub async fn context_window(&self, model: Option<&str>) -> Option<u64> {
        let work = async { Ok(self.inner.backend.context_window(model).await) };
        let window = self.within_open_timeout("asking for the context window", work);
        window.await.ok().flatten()
    }

    /// Starts a session.
    pub async fn new_session(&self, options: SessionOptions) -> Result<SessionId> {
        let options = self.with_masked_approver(options);
        let work = async { self.inner.backend.new_session(options).await };
        self.within_open_timeout("starting a session", work).await
    }

    /// Resumes an earlier session.
    pub async fn load_session(&self, id: &SessionId, options: SessionOptions) -> Result<()> {
        let options = self.with_masked_approver(options);
        let work = async { self.inner.backend.load_session(id, options).await };
        self.within_open_timeout("resuming a session", work).await
    }

    /// Starts a turn.
    ///
    /// An error means that no turn started: the input was rejected, or the session is busy. Failures of the
    /// agent itself are reported as the turn's terminal event.
    pub async fn prompt(&self, id: &SessionId, prompt: impl Into<Prompt>) -> Result<EventReceiver> {
        let prompt = prompt.into();
        check(&prompt)?;
        let inner = &self.inner;
        let (turn, running) = inner.running.register(id)?;
        // At the highest level, so that the log has its fields, and those of the spans around it, at each level.
        let span = tracing::error_span!(
            "prompt",
            backend = inner.name,
            session_id = %id,
            turn = turn.0,
            prompt_len = prompt.text.len(),
        );
        span.in_scope(|| tracing::info!("sending prompt"));
        let (sender, receiver) = mpsc::channel(EVENT_QUEUE);
        let work = turn::TurnTask {
            backend: Arc::clone(&inner.backend),
            name: inner.name,
            clock: Arc::clone(&inner.clock),
            limits: inner.limits,
            masker: inner.masker.clone(),
            session: id.clone(),
            running,
        };
        tokio::spawn(work.run(prompt, sender).instrument(span));
        Ok(EventReceiver::new(
            receiver,
            Arc::clone(&inner.clock),
            id.clone(),
            turn,
        ))
    }

    /// Cancels the running turn of this session. Does nothing if no turn is running.
    ///
    /// The turn ends with [`Cancelled`](crate::ErrorCode::Cancelled), at the latest after the grace period of
    /// the limits.
    pub async fn cancel(&self, id: &SessionId) -> Result<()> {
        self.inner.running.cancel(id);
        Ok(())
    }

    /// Returns a handle to the same agent for one unit of work: an attempt, a request, a conversation.
    ///
    /// Its sessions and processes belong to that work alone. They end with [`Self::close`], at the latest when
    /// the last clone of this handle is dropped.
    #[must_use]
    pub fn scoped(&self) -> Self {
        let backend = unwind::catch(|| self.inner.backend.scoped()).ok().flatten();
        match backend {
            Some(backend) => self.with_inner(|inner| {
                inner.backend = backend;
                inner.running = RunningTurns::default();
            }),
            None => self.clone(),
        }
    }

    /// Ends all processes of the agent, and returns when they are gone, at the latest after [`CLOSE_TIMEOUT`]. No session
    /// can be used afterwards.
    ///
    /// A handle that others use too must be [scoped](Self::scoped) first.
    pub async fn close(&self) {
        let (name, after) = (self.inner.name, CLOSE_TIMEOUT);
        let work = async { self.inner.backend.close().await };
        let closed = tokio::select! {
            biased;
            closed = unwind::catch_async(work) => closed.map_err(|panic| panic.into_error(name)),
            () = self.inner.clock.sleep(after) => Err(Error::Timeout { what: format!("ending {name}"), after }),
        };
        if let Err(error) = closed {
            tracing::warn!(%error, "the processes of an agent may still run");
        }
    }

    /// Returns the options with an approver that receives masked requests.
    fn with_masked_approver(&self, mut options: SessionOptions) -> SessionOptions {
        let masker = &self.inner.masker;
        if let Some(approver) = options.approver.0.take_if(|_| !masker.is_empty()) {
            let masker = masker.clone();
            options.approver.0 = Some(Arc::new(MaskedApprover { masker, approver }));
        }
        options
    }

    async fn within_open_timeout<T>(
        &self,
        what: &str,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let limit = self.inner.limits.open;
        tokio::select! {
            done = unwind::catch_async(work) => {
                let result = match done {
                    Ok(result) => result,
                    Err(panic) => Err(panic.into_error(self.inner.name)),
                };
                result.map_err(|error| self.inner.masker.error(error))
            }
            () = self.inner.clock.sleep(limit) => Err(Error::Timeout {
                what: format!("{what} with {}", self.inner.name),
                after: limit,
            }),
        }
    }
}

impl fmt::Debug for AgentHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentHandle")
            .field("name", &self.inner.name)
            .finish_non_exhaustive()
    }
}

/// Rejects prompts that no agent could accept.
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

/// The busy sessions, their cancellation tokens and the number of the last turn.
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
        let mut state = self.state.lock();
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
        if let Some(stop) = self.state.lock().turns.get(id) {
            stop.cancel();
        }
    }
}

/// The entry of a running turn. Dropping it frees the session.
struct TurnGuard {
    stop: CancellationToken,
    session: SessionId,
    running: RunningTurns,
}

impl Drop for TurnGuard {
    fn drop(&mut self) {
        self.running.state.lock().turns.remove(&self.session);
    }
}
