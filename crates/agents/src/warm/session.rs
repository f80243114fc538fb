//! A session and its agent.

use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;
use windlass_core::{
    AgentEvent, AgentHandle, Error, ErrorCode, EventReceiver, Result, SessionId, SessionOptions,
};

use super::WarmPrompt;
use crate::program::pool::Pooled;

/// One conversation with a dedicated agent.
pub(super) struct WarmSession {
    agent: AgentHandle,
    state: Mutex<SessionState>,
    /// The holder of this lock runs a turn; other prompts of the key wait for it.
    turn: Arc<tokio::sync::Mutex<()>>,
}

struct SessionState {
    session: SessionId,
    options: SessionOptions,
    /// Whether the session had no turn yet.
    is_new: bool,
}

/// How a session was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionLoss {
    /// The process that had the session is gone; another process may be able to resume it.
    Orphaned,
    /// The agent does not know the session.
    Unknown,
}

impl SessionLoss {
    /// Returns the loss that this terminal event reports, if any.
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

/// A turn that was restarted after its session was lost.
pub(super) struct RestartedTurn {
    pub(super) events: EventReceiver,
    /// The new session's ID, if the turn runs in a new session.
    pub(super) session: Option<SessionId>,
}

impl WarmSession {
    /// Creates a session.
    pub(super) async fn start(agent: AgentHandle, options: SessionOptions) -> Result<Self> {
        let session = agent.new_session(options.clone()).await?;
        Ok(Self::new(agent, session, options, true))
    }

    /// Resumes a session that the agent has stored.
    pub(super) async fn resume(
        agent: AgentHandle,
        options: SessionOptions,
        session: SessionId,
    ) -> Result<Self> {
        agent.load_session(&session, options.clone()).await?;
        Ok(Self::new(agent, session, options, false))
    }

    fn new(agent: AgentHandle, session: SessionId, options: SessionOptions, is_new: bool) -> Self {
        Self {
            agent,
            state: Mutex::new(SessionState {
                session,
                options,
                is_new,
            }),
            turn: Arc::default(),
        }
    }

    /// Waits until no turn runs in the session, and locks it.
    pub(super) async fn lock_turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.turn).lock_owned().await
    }

    /// Resumes the session with these options, if they differ from the current ones.
    pub(super) async fn reconfigure(&self, options: &SessionOptions) -> Result<()> {
        if self.state.lock().options == *options {
            return Ok(());
        }
        if !self.agent.capabilities().load_session {
            return Err(Error::unsupported(
                self.agent.name(),
                "resume a session with other options: use another key",
            ));
        }
        let session = self.session();
        self.agent.load_session(&session, options.clone()).await?;
        self.state.lock().options = options.clone();
        Ok(())
    }

    /// Starts a turn.
    pub(super) async fn prompt(&self, prompt: &WarmPrompt) -> Result<EventReceiver> {
        let is_new = self.state.lock().is_new;
        let prompt = if is_new {
            prompt.for_new_session().clone()
        } else {
            prompt.prompt.clone()
        };
        let events = self.agent.prompt(&self.session(), prompt).await?;
        self.state.lock().is_new = false;
        Ok(events)
    }

    /// Restarts a turn after its session was lost: in the same session if it can be resumed, otherwise in a new
    /// one.
    pub(super) async fn restart_turn(
        &self,
        loss: SessionLoss,
        prompt: WarmPrompt,
    ) -> Result<RestartedTurn> {
        let options = self.state.lock().options.clone();
        let session = self.session();
        if loss == SessionLoss::Orphaned && self.agent.capabilities().load_session {
            let resumed = self.agent.load_session(&session, options.clone()).await;
            if resumed.is_ok() {
                return Ok(RestartedTurn {
                    events: self.prompt(&prompt).await?,
                    session: None,
                });
            }
        }
        let session = self.agent.new_session(options).await?;
        {
            let mut state = self.state.lock();
            state.session = session.clone();
            state.is_new = true;
        }
        Ok(RestartedTurn {
            events: self.prompt(&prompt).await?,
            session: Some(session),
        })
    }

    /// Records a new ID of the session.
    pub(super) fn set_session_id(&self, session: SessionId) {
        self.state.lock().session = session;
    }

    pub(super) fn session(&self) -> SessionId {
        self.state.lock().session.clone()
    }

    pub(super) async fn cancel(&self) -> Result<()> {
        self.agent.cancel(&self.session()).await
    }
}

impl Pooled for Arc<WarmSession> {
    /// A lost session is noticed and replaced by its next turn.
    fn is_live(&self) -> bool {
        true
    }

    fn is_busy(&self) -> bool {
        self.turn.try_lock().is_err()
    }

    fn expires(&self) -> bool {
        true
    }

    fn close(self) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.agent.close().await })
    }
}
