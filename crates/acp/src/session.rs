//! One session: its directory, mode and agent, and the conversation with the agent.

use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol::v1::schema::{SessionConfigOption, SessionModeState, SessionUpdate};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use windlass_core::permission::SessionApprover;
use windlass_core::{
    AgentHandle, Clock, Error, McpServer, Result, SessionId, SessionOptions, SystemClock,
};

use crate::host::{HostDir, OpenAgent};
use crate::journal::{HistoryWriter, JournalDir, SessionRecord};
use crate::link::ClientLink;
use crate::mode::{self, Mode};
use crate::options::{self, OptionChange};
use crate::permission::{ClientApprover, TurnWriter};

/// A session of the client.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) cwd: PathBuf,
    pub(crate) dir: Arc<dyn HostDir>,
    pub(crate) link: ClientLink,
    servers: Vec<McpServer>,
    journal: JournalDir,
    history: Mutex<HistoryWriter>,
    record: Mutex<SessionRecord>,
    running: Mutex<Option<TurnSignals>>,
    /// The writer of the running turn, for permission requests.
    pub(crate) turn_writer: Arc<Mutex<Option<TurnWriter>>>,
    conversation: tokio::sync::Mutex<Option<AgentConversation>>,
}

/// How a turn is ended from outside.
#[derive(Debug, Clone, Default)]
pub(crate) struct TurnSignals {
    /// The client cancels the turn.
    pub(crate) cancel: CancellationToken,
    /// The client is gone.
    pub(crate) stop: CancellationToken,
}

/// A turn that runs. Its session is busy until this is dropped.
pub(crate) struct RunningTurn {
    pub(crate) session: Arc<Session>,
    /// The number of the turn in its session, counted from one.
    pub(crate) number: u64,
    pub(crate) signals: TurnSignals,
}

impl Drop for RunningTurn {
    fn drop(&mut self) {
        self.session.turn_writer.lock().take();
        self.session.history.lock().flush();
        self.session.running.lock().take();
    }
}

/// The conversation with an agent.
#[derive(Debug, Clone)]
pub(crate) struct AgentConversation {
    pub(crate) handle: AgentHandle,
    pub(crate) session: SessionId,
    agent: String,
    mode: Mode,
}

impl Session {
    pub(crate) fn new(
        record: SessionRecord,
        dir: Arc<dyn HostDir>,
        servers: Vec<McpServer>,
        journal: JournalDir,
        link: ClientLink,
    ) -> Self {
        Self {
            id: record.id.to_string(),
            cwd: record.cwd.clone(),
            dir,
            link,
            servers,
            history: Mutex::new(HistoryWriter::new(journal.clone(), record.id)),
            journal,
            record: Mutex::new(record),
            running: Mutex::default(),
            turn_writer: Arc::default(),
            conversation: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the stored data of the session.
    pub(crate) fn record(&self) -> SessionRecord {
        self.record.lock().clone()
    }

    /// Changes the stored data of the session.
    pub(crate) fn change(&self, change: impl FnOnce(&mut SessionRecord)) {
        let mut record = self.record.lock();
        change(&mut record);
        record.updated_at = SystemClock::new().now();
        // A session without a turn is not worth listing.
        if record.turns > 0
            && let Err(error) = self.journal.write(&record)
        {
            tracing::warn!(%error, "a session is not stored");
        }
    }

    /// Returns the modes, and the options with their current values.
    pub(crate) fn settings(&self) -> (SessionModeState, Vec<SessionConfigOption>) {
        let record = self.record();
        let options = options::list(record.mode, &record.agent, &self.dir.agents());
        (mode::state(record.mode), options)
    }

    /// Changes the mode or the agent, from the next turn on.
    pub(crate) fn apply(&self, change: OptionChange) -> Result<()> {
        match change {
            OptionChange::Mode(mode) => {
                if mode == Mode::Task {
                    self.dir.task_root()?;
                }
                self.change(|record| record.mode = mode);
            }
            OptionChange::Agent(agent) => {
                self.dir.open_agent(&agent)?;
                self.change(|record| record.agent = agent);
            }
        }
        Ok(())
    }

    /// Starts a turn, which ends when the returned value is dropped.
    pub(crate) fn begin_turn(
        self: &Arc<Self>,
        title: impl FnOnce() -> String,
    ) -> Result<RunningTurn> {
        let mut running = self.running.lock();
        if running.is_some() {
            let session = self.id.as_str().into();
            return Err(Error::SessionBusy { session });
        }
        let signals = TurnSignals::default();
        *running = Some(signals.clone());
        self.change(|record| {
            record.turns += 1;
            if record.title.is_empty() {
                record.title = title();
            }
        });
        Ok(RunningTurn {
            session: Arc::clone(self),
            number: self.record.lock().turns,
            signals,
        })
    }

    /// Cancels the running turn, if there is one.
    pub(crate) fn cancel(&self) {
        if let Some(signals) = &*self.running.lock() {
            signals.cancel.cancel();
        }
    }

    /// Ends the running turn because the client is gone.
    pub(crate) fn stop(&self) {
        if let Some(signals) = &*self.running.lock() {
            signals.stop.cancel();
            signals.cancel.cancel();
        }
    }

    /// Stores an update and sends it to the client.
    pub(crate) async fn send(&self, update: SessionUpdate) {
        self.store(&update);
        self.link.update(&self.id, update).await;
    }

    /// Sends the history of the session to the client.
    pub(crate) async fn replay(&self, history: Vec<SessionUpdate>) {
        for update in history {
            self.link.update(&self.id, update).await;
        }
    }

    /// Stores an update that the client already has.
    pub(crate) fn store(&self, update: &SessionUpdate) {
        self.history.lock().add(update);
    }

    /// Returns an approver that asks the client.
    pub(crate) fn approver(&self) -> SessionApprover {
        SessionApprover(Some(Arc::new(ClientApprover {
            link: self.link.clone(),
            session: self.id.clone(),
            turn: Arc::clone(&self.turn_writer),
        })))
    }

    /// Returns the conversation with the current agent in the current mode: the open one, the stored one resumed,
    /// or a new one.
    pub(crate) async fn conversation(&self) -> Result<AgentConversation> {
        let mut open = self.conversation.lock().await;
        let record = self.record();
        if let Some(other) = open.take_if(|open| open.agent != record.agent) {
            other.handle.close().await;
        }
        match &*open {
            Some(open) if open.mode == record.mode => return Ok(open.clone()),
            _ => {}
        }
        let OpenAgent { handle, model } = match open.take() {
            Some(open) => OpenAgent {
                handle: open.handle,
                model: self.dir.open_agent(&record.agent)?.model,
            },
            None => {
                let opened = self.dir.open_agent(&record.agent)?;
                OpenAgent {
                    handle: opened.handle.scoped(),
                    ..opened
                }
            }
        };
        let options = self.options(&handle, model, record.mode);
        let stored = record.backend.filter(|(agent, _)| *agent == record.agent);
        let session = match stored {
            Some((_, id)) => {
                let id = SessionId::from(id);
                handle.load_session(&id, options).await?;
                id
            }
            None => handle.new_session(options).await?,
        };
        let conversation = AgentConversation {
            handle,
            session,
            agent: record.agent,
            mode: record.mode,
        };
        *open = Some(conversation.clone());
        Ok(conversation)
    }

    fn options(&self, handle: &AgentHandle, model: Option<String>, mode: Mode) -> SessionOptions {
        let mut options = SessionOptions::in_dir(&self.cwd);
        options.model = model;
        if handle.capabilities().mcp {
            options.mcp_servers.clone_from(&self.servers);
        } else if !self.servers.is_empty() {
            tracing::warn!(agent = handle.name(), "the agent cannot use MCP servers");
        }
        mode.apply(&mut options, self.approver());
        options
    }

    /// Records the agent's session, so that it can be resumed. `None`: the agent no longer has it.
    pub(crate) async fn set_backend(&self, session: Option<SessionId>) {
        let mut open = self.conversation.lock().await;
        let backend = match (&mut *open, session) {
            (Some(open), Some(session)) => {
                open.session = session;
                // An agent that cannot resume keeps its session only as long as it is open.
                let can_resume = open.handle.capabilities().load_session;
                can_resume.then(|| (open.agent.clone(), open.session.to_string()))
            }
            _ => {
                *open = None;
                None
            }
        };
        self.change(|record| record.backend = backend);
    }

    /// Ends the agent's processes.
    pub(crate) async fn close(&self) {
        if let Some(open) = self.conversation.lock().await.take() {
            open.handle.close().await;
        }
    }
}
