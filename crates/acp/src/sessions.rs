//! The sessions of a connection: new, loaded, listed, prompted, closed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::Result as ProtocolResult;
use agent_client_protocol::v1::schema::{
    McpServer as ProtocolServer, PromptRequest, PromptResponse, SessionInfo, SessionUpdate,
};
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;
use uuid::Uuid;
use windlass_core::{Clock, Error, McpServer, Result, SystemClock};

use crate::content::user_message;
use crate::error::to_protocol;
use crate::host::{AcpHost, HostDir};
use crate::journal::{JournalDir, SessionRecord};
use crate::link::ClientLink;
use crate::mode::Mode;
use crate::session::Session;
use crate::{prompt, task_turn, turn};

/// How long turns and agents may take to end after the client is gone. What is left then ends with the process.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(3);
/// Maximum number of open sessions.
const MAX_OPEN: usize = 100;

/// How sessions start, and where they are stored.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// The agent of new sessions. `None`: the one that the directory's configuration selects.
    pub agent: Option<String>,
    /// The mode of new sessions.
    pub mode: Mode,
    /// The private directory of the stored sessions.
    pub journal: PathBuf,
}

/// The sessions of a connection.
pub(crate) struct Sessions {
    host: Arc<dyn AcpHost>,
    settings: ServerSettings,
    journal: JournalDir,
    open: Mutex<HashMap<String, Arc<Session>>>,
    /// The running turns and tasks.
    pub(crate) tasks: TaskTracker,
}

impl Sessions {
    pub(crate) fn new(host: Arc<dyn AcpHost>, settings: ServerSettings) -> Self {
        Self {
            host,
            journal: JournalDir::new(settings.journal.clone()),
            settings,
            open: Mutex::default(),
            tasks: TaskTracker::new(),
        }
    }

    /// Creates a session.
    pub(crate) async fn create(
        &self,
        link: ClientLink,
        cwd: PathBuf,
        servers: Vec<ProtocolServer>,
    ) -> Result<Arc<Session>> {
        let (dir, servers) = self.open_dir(&cwd, servers).await?;
        let agent = match &self.settings.agent {
            Some(agent) => agent.clone(),
            None => dir.default_agent()?,
        };
        let record = SessionRecord {
            id: Uuid::new_v4(),
            cwd,
            mode: self.settings.mode,
            agent,
            title: String::new(),
            turns: 0,
            backend: None,
            blocked_task: None,
            updated_at: SystemClock::new().now(),
        };
        let session = Session::new(record, dir, servers, self.journal.clone(), link);
        let session = self.open(session).await?;
        let journal = self.journal.clone();
        tokio::task::spawn_blocking(move || journal.prune());
        Ok(session)
    }

    /// Resumes a stored session.
    pub(crate) async fn load(
        &self,
        link: ClientLink,
        id: &str,
        cwd: PathBuf,
        servers: Vec<ProtocolServer>,
    ) -> Result<Arc<Session>> {
        // A session that is open already is restarted: the client has lost it.
        if let Some(open) = self.remove(id) {
            open.cancel();
            open.close().await;
        }
        let (dir, servers) = self.open_dir(&cwd, servers).await?;
        let (journal, name) = (self.journal.clone(), id.to_owned());
        let stored = tokio::task::spawn_blocking(move || journal.read(&name)).await;
        let record = stored.ok().flatten().ok_or_else(|| unknown(id))?;
        let is_conversation = record.mode != Mode::Task && record.backend.is_none();
        if is_conversation
            && !dir
                .open_agent(&record.agent)?
                .handle
                .capabilities()
                .load_session
        {
            return Err(Error::unsupported(&record.agent, "resume a session"));
        }
        let record = SessionRecord { cwd, ..record };
        let session = Session::new(record, dir, servers, self.journal.clone(), link);
        self.open(session).await
    }

    /// Returns the stored updates of a session.
    pub(crate) async fn history(&self, session: &Session) -> Vec<SessionUpdate> {
        let (journal, id) = (self.journal.clone(), session.record().id);
        let history = tokio::task::spawn_blocking(move || journal.history(id)).await;
        history.unwrap_or_default()
    }

    /// Opens the directory of a session.
    async fn open_dir(
        &self,
        cwd: &Path,
        servers: Vec<ProtocolServer>,
    ) -> Result<(Arc<dyn HostDir>, Vec<McpServer>)> {
        if !cwd.is_absolute() || !cwd.is_dir() {
            let cwd = cwd.display();
            let problem = format!("cwd {cwd} is not an absolute path of a directory");
            return Err(Error::InvalidInput(problem));
        }
        let servers = servers.into_iter().map(mcp_server).collect::<Result<_>>()?;
        if self.open.lock().len() >= MAX_OPEN {
            let problem = format!("{MAX_OPEN} sessions are open: close one first");
            return Err(Error::InvalidInput(problem));
        }
        Ok((self.host.open_dir(cwd).await?, servers))
    }

    /// Starts the agent of a session, so that a problem is reported now and not with the first prompt.
    async fn open(&self, session: Session) -> Result<Arc<Session>> {
        match session.record().mode {
            Mode::Task => drop(session.dir.task_root()?),
            _ => drop(session.conversation().await?),
        }
        let session = Arc::new(session);
        let id = session.id.clone();
        self.open.lock().insert(id, Arc::clone(&session));
        Ok(session)
    }

    /// Returns the open session of this ID.
    pub(crate) fn get(&self, id: &str) -> Result<Arc<Session>> {
        self.open.lock().get(id).cloned().ok_or_else(|| unknown(id))
    }

    fn remove(&self, id: &str) -> Option<Arc<Session>> {
        self.open.lock().remove(id)
    }

    /// Returns the stored sessions, newest first; only those of a directory if one is given.
    pub(crate) async fn list(&self, cwd: Option<PathBuf>) -> Vec<SessionInfo> {
        let journal = self.journal.clone();
        let records = tokio::task::spawn_blocking(move || journal.list()).await;
        let records = records.unwrap_or_default().into_iter();
        let here = records.filter(|record| cwd.as_ref().is_none_or(|cwd| *cwd == record.cwd));
        let info = |record: SessionRecord| {
            let seconds = record.updated_at.0 / 1000;
            SessionInfo::new(record.id.to_string(), record.cwd)
                .title(Some(record.title).filter(|title| !title.is_empty()))
                .updated_at(windlass_wire::rfc3339(seconds))
        };
        here.map(info).collect()
    }

    /// Cancels the turn of a session and ends its agent.
    pub(crate) async fn close(&self, id: &str) -> Result<()> {
        let session = self.remove(id).ok_or_else(|| unknown(id))?;
        session.cancel();
        session.close().await;
        Ok(())
    }

    /// Closes a session and removes it from the list.
    pub(crate) async fn delete(&self, id: &str) {
        // It need not be open.
        let _ = self.close(id).await;
        let (journal, id) = (self.journal.clone(), id.to_owned());
        let _ = tokio::task::spawn_blocking(move || journal.delete(&id)).await;
    }

    /// Starts a turn. A turn is registered before this returns, so that a cancellation that follows applies to it.
    pub(crate) fn start_turn(
        self: &Arc<Self>,
        request: PromptRequest,
    ) -> ProtocolResult<impl Future<Output = ProtocolResult<PromptResponse>> + Send + 'static> {
        let session = self
            .get(&request.session_id.0)
            .map_err(|error| to_protocol(&error))?;
        let text = prompt::text(&request.prompt).map_err(|error| to_protocol(&error))?;
        let turn = session.begin_turn(|| prompt::title(&text));
        let turn = turn.map_err(|error| to_protocol(&error))?;
        let tasks = self.tasks.clone();
        Ok(async move {
            session.store(&user_message(&text));
            match session.record().mode {
                Mode::Task => task_turn::run(&turn, text, &tasks).await,
                _ => turn::run(&turn, text).await,
            }
        })
    }

    /// Ends all turns and agents.
    pub(crate) async fn shut_down(&self) {
        let open: Vec<_> = self
            .open
            .lock()
            .drain()
            .map(|(_, session)| session)
            .collect();
        for session in &open {
            session.stop();
        }
        self.tasks.close();
        let ended = async {
            self.tasks.wait().await;
            futures::future::join_all(open.iter().map(|session| session.close())).await;
        };
        if tokio::time::timeout(SHUTDOWN_WAIT, ended).await.is_err() {
            tracing::warn!("some turns did not end in time");
        }
    }
}

fn unknown(id: &str) -> Error {
    Error::SessionNotFound {
        backend: "windlass".to_owned(),
        session: id.into(),
    }
}

/// Converts an MCP server of the client. Only programs are supported: the sandbox starts them.
fn mcp_server(server: ProtocolServer) -> Result<McpServer> {
    match server {
        ProtocolServer::Stdio(server) => Ok(McpServer {
            name: server.name,
            command: server.command.to_string_lossy().into_owned(),
            args: server.args,
            env: server
                .env
                .into_iter()
                .map(|variable| (variable.name, variable.value))
                .collect(),
            network: None,
        }),
        _ => Err(Error::InvalidInput(
            "MCP servers over HTTP are not supported: configure one that is a program".to_owned(),
        )),
    }
}
