//! An agent that records what another agent does.

mod handle_backend;
mod log;
mod recorder;

use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use windlass_cassette::{Cassette, CassetteError, Interaction, Normalizer, Substitutions};
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, Capabilities, Clock, EditMode, EventStream, Prompt,
    Result, SessionId, SessionOptions, SystemClock, WorkLabel, ready_events,
};

pub use handle_backend::HandleBackend;
use log::{RecordingLog, SharedLog, TurnSink};
use recorder::TurnRecorder;

/// Forwards everything to another agent, and records its events.
///
/// ```
/// use windlass_cassette::Substitutions;
/// use windlass_core::{AgentHandle, SessionOptions};
/// use windlass_testkit::{MockAgent, RecordingAgent, ReplayAgent};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let recorder = RecordingAgent::new(MockAgent::new());
/// let recording = recorder.recording();
/// let agent = AgentHandle::wrap(recorder);
/// let session = agent.new_session(SessionOptions::in_dir("/home/me/project")).await?;
/// let events = agent.prompt(&session, "Look at /home/me/project/a.txt").await?.collect().await;
///
/// let cassette = recording.cassette(&Substitutions::new())?;
/// assert!(cassette.to_jsonl()?.contains("Look at {workspace}/a.txt"));
///
/// let replay = AgentHandle::wrap(ReplayAgent::new(cassette));
/// let session = replay.new_session(SessionOptions::in_dir("/home/me/project")).await?;
/// assert_eq!(replay.prompt(&session, "Look at /home/me/project/a.txt").await?.collect().await, events);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RecordingAgent<T: AgentBackend> {
    inner: T,
    clock: Arc<dyn Clock>,
    log: SharedLog,
}

impl<T: AgentBackend> RecordingAgent<T> {
    /// Records this backend.
    pub fn new(inner: T) -> Self {
        Self {
            inner,
            clock: Arc::new(SystemClock::new()),
            log: SharedLog::default(),
        }
    }

    /// Calls this function with each turn that has ended, instead of keeping the turns. They are not normalized.
    #[must_use]
    pub fn on_turn(
        mut self,
        on_turn: impl Fn(&WorkLabel, Interaction) + Send + Sync + 'static,
    ) -> Self {
        let sink = TurnSink(Arc::new(on_turn));
        self.log = Arc::new(Mutex::new(RecordingLog::with_sink(sink)));
        self
    }

    /// Takes the offsets of events from this clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Returns the recording, which stays valid when the agent moves into a handle.
    pub fn recording(&self) -> Recording {
        Recording {
            log: Arc::clone(&self.log),
        }
    }

    /// Returns the recorded backend.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }
}

impl RecordingAgent<HandleBackend> {
    /// Records what leaves this handle.
    pub fn from_handle(handle: AgentHandle) -> Self {
        Self::new(HandleBackend::new(handle))
    }
}

impl<T: AgentBackend> AgentBackend for RecordingAgent<T> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn edit_mode(&self, model: Option<&str>) -> EditMode {
        self.inner.edit_mode(model)
    }

    fn has_alternative(&self) -> bool {
        self.inner.has_alternative()
    }

    fn context_window<'a>(&'a self, model: Option<&'a str>) -> BoxFuture<'a, Option<u64>> {
        self.inner.context_window(model)
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(async move {
            let id = self.inner.new_session(options.clone()).await?;
            self.log.lock().open(&id, &options, false);
            Ok(id)
        })
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.inner.load_session(id, options.clone()).await?;
            self.log.lock().open(id, &options, true);
            Ok(())
        })
    }

    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        Box::pin(async move {
            let start = self.clock.elapsed();
            // The session is unknown, which the backend will report itself, or the recording is
            // full.
            let Some(turn) = self.log.lock().start_turn(id, &prompt.text, start) else {
                return self.inner.prompt(id, prompt).await;
            };
            // The recorder exists before the agent is prompted, because the caller may cancel
            // while it waits.
            let recorder = TurnRecorder::new(turn, start, &self.log, &self.clock);
            let stream = match self.inner.prompt(id, prompt).await {
                Ok(stream) => stream,
                Err(error) => ready_events([AgentEvent::from(error)]),
            };
            Ok(recorder.wrap(stream))
        })
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        self.log.lock().interrupt_session(id, self.clock.elapsed());
        self.inner.cancel(id)
    }

    /// Everything is recorded in one recording, or goes to one function.
    fn scoped(&self) -> Option<Arc<dyn AgentBackend>> {
        let scoped = self.log.lock().scoped();
        Some(Arc::new(RecordingAgent {
            inner: self.inner.scoped()?,
            clock: Arc::clone(&self.clock),
            log: scoped.map_or_else(|| Arc::clone(&self.log), |log| Arc::new(Mutex::new(log))),
        }))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.inner.close()
    }
}

/// The recording of a [`RecordingAgent`], accessible from outside.
#[derive(Debug, Clone)]
pub struct Recording {
    log: SharedLog,
}

impl Recording {
    /// Returns the recording so far, normalized with these substitutions. The directories of its
    /// sessions count as workspaces.
    pub fn cassette(&self, substitutions: &Substitutions) -> Result<Cassette, CassetteError> {
        let turns = self.log.lock().turns()?;
        let mut substitutions = substitutions.clone();
        for turn in &turns {
            if let Some(cwd) = &turn.options.cwd {
                substitutions = substitutions.workspace(cwd);
            }
        }
        let mut cassette = Cassette::from(turns);
        Normalizer::new(&substitutions).normalize_cassette(&mut cassette);
        Ok(cassette)
    }
}
