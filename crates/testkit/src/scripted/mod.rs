//! An agent that plays a script by itself, and really does what the script's intents say.
//!
//! It is to a script what a real agent is that calls the scripted model: the same file drives both.

mod tools;
mod turn;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use windlass_core::{
    AgentBackend, Capabilities, Clock, Error, EventStream, McpServer, Prompt, Result, SessionId,
    SessionOptions, SystemClock,
};
use windlass_gateway::Script;
use windlass_gateway::script::{ScriptCursor, UnusedTurn};

use turn::ScriptedAgentTurn;

/// The name of the backend: to its caller it is a mock like any other.
const NAME: &str = "mock";

/// An agent whose model is a script.
#[derive(Debug)]
pub struct ScriptedAgent {
    play: Arc<Mutex<ScriptCursor>>,
    clock: Arc<dyn Clock>,
    sessions: Mutex<HashMap<SessionId, ScriptedSession>>,
}

/// What the agent remembers of a conversation.
#[derive(Debug, Clone)]
struct ScriptedSession {
    cwd: PathBuf,
    servers: Vec<McpServer>,
    /// How many answers the model gave in it.
    answers: Arc<Mutex<usize>>,
    /// Ends the turn under way.
    cancelled: CancellationToken,
}

impl ScriptedAgent {
    /// An agent that plays this script from its beginning.
    pub fn new(script: Script) -> Self {
        Self {
            play: Arc::new(Mutex::new(ScriptCursor::new(script))),
            clock: Arc::new(SystemClock::new()),
            sessions: Mutex::default(),
        }
    }

    /// The same agent under another clock: the script's pauses are taken on it.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The turns of the script that nothing asked for, or not often enough.
    pub fn unused_turns(&self) -> Vec<UnusedTurn> {
        lock(&self.play).unused()
    }

    fn session(&self, id: &SessionId) -> Result<ScriptedSession> {
        let found = lock(&self.sessions).get(id).cloned();
        found.ok_or_else(|| Error::SessionNotFound {
            backend: NAME.to_owned(),
            session: id.clone(),
        })
    }
}

impl AgentBackend for ScriptedAgent {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            streaming: true,
            load_session: true,
            tools: true,
            mcp: true,
            usage: true,
            ..Capabilities::default()
        }
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(async move {
            let cwd = match options.cwd {
                Some(cwd) => cwd,
                None => std::env::current_dir().map_err(|error| {
                    Error::InvalidInput(format!("no working directory: {error}"))
                })?,
            };
            let session = ScriptedSession {
                cwd,
                servers: options.mcp_servers,
                answers: Arc::default(),
                cancelled: CancellationToken::new(),
            };
            let mut sessions = lock(&self.sessions);
            let id = SessionId::from(format!("script-{}", sessions.len() + 1));
            sessions.insert(id.clone(), session);
            Ok(id)
        })
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        _: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { self.session(id).map(drop) })
    }

    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        Box::pin(async move {
            let mut session = self.session(id)?;
            session.cancelled = CancellationToken::new();
            lock(&self.sessions).insert(id.clone(), session.clone());
            let performance = ScriptedAgentTurn {
                play: Arc::clone(&self.play),
                clock: Arc::clone(&self.clock),
                session,
            };
            Ok(performance.spawn(prompt.text))
        })
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async {
            self.session(id)?.cancelled.cancel();
            Ok(())
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
