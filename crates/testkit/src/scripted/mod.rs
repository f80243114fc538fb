//! An agent that plays a script itself, and executes the intents of the script.
//!
//! It corresponds to a real agent that calls the scripted model: the same file drives both.

mod tools;
mod turn;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;
use windlass_core::{
    AgentBackend, Capabilities, Clock, Error, EventStream, McpServer, Prompt, Result, SessionId,
    SessionOptions, SystemClock,
};
use windlass_scripted::Script;
use windlass_scripted::script::{ScriptCursor, UnusedTurn};

use turn::ScriptedAgentTurn;

/// The name of the backend: for its caller it is a mock.
const NAME: &str = "mock";

/// An agent that uses a script as its model.
#[derive(Debug)]
pub struct ScriptedAgent {
    cursor: Arc<Mutex<ScriptCursor>>,
    clock: Arc<dyn Clock>,
    sessions: Mutex<HashMap<SessionId, ScriptedSession>>,
}

/// The state of a conversation.
#[derive(Debug, Clone)]
struct ScriptedSession {
    cwd: PathBuf,
    servers: Vec<McpServer>,
    /// The number of answers of the model in this session.
    answers: Arc<Mutex<usize>>,
    /// Cancels the current turn.
    cancelled: CancellationToken,
}

impl ScriptedAgent {
    /// Creates an agent that plays this script from the beginning.
    pub fn new(script: Script) -> Self {
        Self {
            cursor: Arc::new(Mutex::new(ScriptCursor::new(script))),
            clock: Arc::new(SystemClock::new()),
            sessions: Mutex::default(),
        }
    }

    /// Uses this clock for the pauses of the script.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Returns the turns of the script that were not requested, or not often enough.
    pub fn unused_turns(&self) -> Vec<UnusedTurn> {
        lock(&self.cursor).unused()
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
        options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut session = self.session(id)?;
            session.cwd = options.cwd.unwrap_or(session.cwd);
            lock(&self.sessions).insert(id.clone(), session);
            Ok(())
        })
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
            let turn = ScriptedAgentTurn {
                cursor: Arc::clone(&self.cursor),
                clock: Arc::clone(&self.clock),
                session,
            };
            Ok(turn.start(prompt.text))
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
    mutex.lock()
}
