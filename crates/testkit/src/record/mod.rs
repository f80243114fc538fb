//! An agent that writes down what another one does.

mod handle_backend;
mod log;
mod recorder;

use std::sync::Arc;

use futures::future::BoxFuture;
use windlass_core::cassette::{Cassette, CassetteError, Normalizer, Substitutions};
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, Capabilities, Clock, EventStream, Prompt, Result,
    SessionId, SessionOptions, SystemClock, ready_events,
};

pub use handle_backend::HandleBackend;
use log::{SharedLog, lock};
use recorder::TurnRecorder;

/// Passes everything on to another agent, and keeps what it says.
///
/// ```
/// use windlass_core::cassette::Places;
/// use windlass_core::{AgentHandle, SessionOptions};
/// use windlass_testkit::{MockAgent, RecordingAgent, ReplayAgent};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let recorder = RecordingAgent::new(MockAgent::new());
/// let recording = recorder.recording();
/// let agent = AgentHandle::wrap(recorder);
/// let session = agent.new_session(SessionOptions::in_dir("/home/me/project")).await?;
/// let said = agent.prompt(&session, "Look at /home/me/project/a.txt").await?.collect().await;
///
/// let cassette = recording.cassette(&Places::new())?;
/// assert!(cassette.to_jsonl()?.contains("Look at {workspace}/a.txt"));
///
/// let replay = AgentHandle::wrap(ReplayAgent::new(cassette));
/// let session = replay.new_session(SessionOptions::in_dir("/home/me/project")).await?;
/// assert_eq!(replay.prompt(&session, "Look at /home/me/project/a.txt").await?.collect().await, said);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RecordingAgent<T: AgentBackend> {
    inner: T,
    clock: Arc<dyn Clock>,
    transcript: SharedLog,
}

impl<T: AgentBackend> RecordingAgent<T> {
    /// Records this backend.
    pub fn new(inner: T) -> Self {
        Self {
            inner,
            clock: Arc::new(SystemClock::new()),
            transcript: SharedLog::default(),
        }
    }

    /// Takes the offsets of events from this clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// What is recorded, which stays when the agent moves into a handle.
    pub fn recording(&self) -> Recording {
        Recording {
            transcript: Arc::clone(&self.transcript),
        }
    }

    /// The backend that is recorded.
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

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(async move {
            let id = self.inner.new_session(options.clone()).await?;
            lock(&self.transcript).open(&id, &options, false);
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
            lock(&self.transcript).open(id, &options, true);
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
            // Nobody opened the session, as the backend will say itself; or the recording is full.
            let Some(turn) = lock(&self.transcript).start_turn(id, &prompt.text, start) else {
                return self.inner.prompt(id, prompt).await;
            };
            // The tap is there before the agent is asked: a caller may give up while it waits.
            let tap = TurnRecorder::new(turn, start, &self.transcript, &self.clock);
            let stream = match self.inner.prompt(id, prompt).await {
                Ok(stream) => stream,
                Err(error) => ready_events([AgentEvent::from(error)]),
            };
            Ok(tap.wrap(stream))
        })
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        lock(&self.transcript).interrupt_session(id, self.clock.elapsed());
        self.inner.cancel(id)
    }
}

/// What a [`RecordingAgent`] kept, seen from outside.
#[derive(Debug, Clone)]
pub struct Recording {
    transcript: SharedLog,
}

impl Recording {
    /// The recording so far, normalised for these places; the folders of its sessions count as workspaces.
    pub fn cassette(&self, places: &Substitutions) -> Result<Cassette, CassetteError> {
        let turns = lock(&self.transcript).turns()?;
        let mut places = places.clone();
        for turn in &turns {
            if let Some(cwd) = &turn.options.cwd {
                places = places.workspace(cwd);
            }
        }
        let mut cassette = Cassette::from(turns);
        Normalizer::new(&places).normalize_cassette(&mut cassette);
        Ok(cassette)
    }
}
