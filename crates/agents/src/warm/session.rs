//! A session and the agent that has it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_core::{
    AgentEvent, AgentHandle, Error, ErrorCode, EventReceiver, Prompt, Result, SessionId,
    SessionOptions,
};

/// One conversation with an agent of its own.
pub(super) struct WarmSession {
    agent: AgentHandle,
    now: Mutex<SessionState>,
}

struct SessionState {
    session: SessionId,
    options: SessionOptions,
}

/// How a session was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionLoss {
    /// Whoever had it is gone; another may find it.
    Orphaned,
    /// The agent does not know it.
    Unknown,
}

impl SessionLoss {
    /// The loss that this end of a turn means, if it means one.
    pub(super) fn from_event(event: &AgentEvent) -> Option<Self> {
        match event {
            AgentEvent::SessionInvalid { .. } => Some(Self::Unknown),
            AgentEvent::Error {
                code: ErrorCode::SessionOrphaned,
                ..
            } => Some(Self::Orphaned),
            _ => None,
        }
    }
}

/// A turn that was begun again after a loss.
pub(super) struct RestartedTurn {
    pub(super) events: EventReceiver,
    /// The session's new name, if it is another session.
    pub(super) session: Option<SessionId>,
}

impl WarmSession {
    /// Begins a session.
    pub(super) async fn start(agent: AgentHandle, options: SessionOptions) -> Result<Self> {
        let session = agent.new_session(options.clone()).await?;
        Ok(Self {
            agent,
            now: Mutex::new(SessionState { session, options }),
        })
    }

    /// Goes on with these options, if they are others than before.
    pub(super) async fn reconfigure(&self, options: &SessionOptions) -> Result<()> {
        if self.lock().options == *options {
            return Ok(());
        }
        if !self.agent.capabilities().load_session {
            return Err(Error::Unsupported {
                backend: self.agent.name().to_owned(),
                what: "go on in a session with other options: use another key".to_owned(),
            });
        }
        let session = self.session();
        self.agent.load_session(&session, options.clone()).await?;
        self.lock().options = options.clone();
        Ok(())
    }

    /// Begins a turn.
    pub(super) async fn prompt(&self, prompt: Prompt) -> Result<EventReceiver> {
        self.agent.prompt(&self.session(), prompt).await
    }

    /// Begins a turn again whose session was lost: in the same one if that can be found, else in a new one.
    pub(super) async fn restart_turn(
        &self,
        loss: SessionLoss,
        prompt: Prompt,
    ) -> Result<RestartedTurn> {
        let options = self.lock().options.clone();
        let session = self.session();
        if loss == SessionLoss::Orphaned && self.agent.capabilities().load_session {
            let found = self.agent.load_session(&session, options.clone()).await;
            if found.is_ok() {
                return Ok(RestartedTurn {
                    events: self.agent.prompt(&session, prompt).await?,
                    session: None,
                });
            }
        }
        let session = self.agent.new_session(options).await?;
        self.set_session_id(session.clone());
        Ok(RestartedTurn {
            events: self.agent.prompt(&session, prompt).await?,
            session: Some(session),
        })
    }

    /// Takes note that the session has another name.
    pub(super) fn set_session_id(&self, session: SessionId) {
        self.lock().session = session;
    }

    pub(super) fn session(&self) -> SessionId {
        self.lock().session.clone()
    }

    pub(super) async fn cancel(&self) -> Result<()> {
        self.agent.cancel(&self.session()).await
    }

    fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
