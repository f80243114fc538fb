//! State shared by the turns of one configured agent.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tempfile::TempPath;
use tokio::sync::OnceCell;
use windlass_core::{AgentEvent, Error, ErrorCode, Result, SessionId, SessionOptions};
use windlass_sandbox::Stdin;

use super::installation::CliInstallation;
use super::process::AgentProcess;
use super::profile::{CliProfile, IoMode, SessionNaming, TempFileKind};
use super::run_context::{RunContext, SessionStart};
use super::schema_override::schema_for_agent;
use super::session::{CliSession, check_name};
use super::session_files;
use crate::program::launch::Launch;
use crate::program::model_access::ModelAccess;
use crate::program::pool::{Pool, PoolLimits};
use crate::program::processes::Processes;
use crate::program::state_dirs::StateDirs;
use crate::program::{CommandLine, instructions, temp_files};
use crate::session_table::SessionTable;
use crate::{AgentContext, ProgramSettings};

/// One configured agent: its profile and settings, its sessions and its idle processes.
pub(super) struct CliDriver {
    pub(super) profile: &'static CliProfile,
    pub(super) settings: ProgramSettings,
    pub(super) context: AgentContext,
    pub(super) sessions: SessionTable<CliSession>,
    /// Interactive processes that wait for the next turn of their session.
    pub(super) idle: Pool<SessionId, AgentProcess>,
    pub(super) processes: Processes,
    installation: OnceCell<CliInstallation>,
}

impl CliDriver {
    pub(super) fn new(
        profile: &'static CliProfile,
        settings: ProgramSettings,
        context: AgentContext,
    ) -> Self {
        let limits = PoolLimits::processes(context.idle_timeout());
        Self {
            profile,
            settings,
            sessions: SessionTable::default(),
            idle: Pool::new(Arc::clone(context.clock()), limits),
            processes: Processes::default(),
            context,
            installation: OnceCell::new(),
        }
    }

    /// Returns a driver of the same agent without sessions and processes.
    pub(super) fn scoped(&self) -> Self {
        let scoped = Self::new(self.profile, self.settings.clone(), self.context.clone());
        Self {
            installation: self.installation.clone(),
            ..scoped
        }
    }

    /// Ends all processes.
    pub(super) async fn close(&self) {
        self.idle.close().await;
        self.processes.close().await;
    }

    /// Returns the program. It is searched for once; if it was missing, it is searched for again.
    pub(super) async fn installation(&self) -> Result<&CliInstallation> {
        let find = || CliInstallation::find(self.profile, &self.settings, &self.context);
        self.installation.get_or_try_init(find).await
    }

    /// Returns the program, if it has been searched for.
    pub(super) fn cached_installation(&self) -> Option<&CliInstallation> {
        self.installation.get()
    }

    /// Creates a session. The client chooses its ID, or the agent does, now or in the first turn.
    pub(super) async fn new_session(&self, mut options: SessionOptions) -> Result<SessionId> {
        let installation = self.installation().await?;
        let cwd = self.check(installation, &mut options)?;
        let name = uuid::Uuid::new_v4().to_string();
        let (id, known_name) = match installation.transport.naming {
            SessionNaming::ByClient { .. } => (name.clone(), Some(name)),
            SessionNaming::InFirstTurn => (format!("new-{name}"), None),
            SessionNaming::AtStart => {
                let session = Arc::new(CliSession::fresh(options, cwd, None));
                return self
                    .start_announced_session(installation, session, None)
                    .await;
            }
        };
        let session = CliSession::fresh(options, cwd, known_name);
        self.sessions.add(&id, Arc::new(session))
    }

    /// Resumes an existing session. If the agent does not have it, that shows now or in the first turn.
    pub(super) async fn load_session(
        &self,
        id: &SessionId,
        mut options: SessionOptions,
    ) -> Result<()> {
        check_name(id)?;
        let installation = self.installation().await?;
        if !installation.capabilities().load_session {
            return self.unsupported(
                "resume a session: it is stateless, each prompt carries the whole conversation",
            );
        }
        let cwd = self.check(installation, &mut options)?;
        // A session that was created here may have got another ID since.
        let known = self.sessions.get(self.profile.name(), id).ok();
        let name = known.as_ref().and_then(|session| session.name());
        let name = name.unwrap_or_else(|| id.as_str().to_owned());
        let program = self.profile.program;
        let dirs = StateDirs::new(program, &self.settings, &self.context);
        let session_dir = dirs.sessions(&program.state);
        if session_dir.is_some_and(|dir| !session_files::session_exists(&dir, &name)) {
            return Err(self.session_not_found(id));
        }
        let total = known.and_then(|session| session.total());
        let session = Arc::new(CliSession::resumed(options, cwd, name, total));
        // The idle process was started with other options, and perhaps with other access.
        drop(self.idle.take(id));
        if installation.transport.naming == SessionNaming::AtStart {
            self.start_announced_session(installation, session, Some(id))
                .await?;
        } else {
            self.sessions.replace(id.clone(), session)?;
        }
        Ok(())
    }

    /// Rejects unsupported options before anything is started, and applies `schema_override`.
    fn check(
        &self,
        installation: &CliInstallation,
        options: &mut SessionOptions,
    ) -> Result<PathBuf> {
        let can = installation.capabilities();
        if options.output_schema.is_some() && !can.native_schema {
            return self.unsupported("enforce a schema: put it into the prompt");
        }
        let requested = options.output_schema.take();
        options.output_schema = schema_for_agent(requested, &self.settings, &self.context)?;
        if !options.mcp_servers.is_empty() && !can.mcp {
            return self.unsupported("connect to MCP servers over this transport");
        }
        if let Some(model) = &options.model {
            crate::settings::check_argument(model)
                .map_err(|problem| Error::InvalidInput(format!("the model's name {problem}")))?;
        }
        match &options.cwd {
            Some(cwd) => Ok(cwd.clone()),
            None => self
                .context
                .working_dir()
                .map_err(|error| Error::InvalidInput(format!("no working directory: {error}"))),
        }
    }

    /// Starts the process of a session and keeps it for the first turn. The agent reports the session's ID.
    async fn start_announced_session(
        &self,
        installation: &CliInstallation,
        session: Arc<CliSession>,
        wanted: Option<&SessionId>,
    ) -> Result<SessionId> {
        let mut process = self.start(installation, &session, "")?;
        loop {
            let Ok(Some(line)) = process.child.stdout.next().await else {
                let (end, _) = process.wait_exit().await;
                return Err(self.session_error(end, wanted));
            };
            let parsed = process.handle_line(&line.text());
            if let Some(name) = parsed.session {
                session.set_name(&name);
                let id = match wanted {
                    Some(id) => {
                        self.sessions.replace(id.clone(), session)?;
                        id.clone()
                    }
                    None => self.sessions.add(&name, session)?,
                };
                self.idle.insert(id.clone(), process);
                return Ok(id);
            }
            if let Some(end) = parsed.events.into_iter().find(|event| event.is_terminal()) {
                return Err(self.session_error(end, wanted));
            }
        }
    }

    /// Starts a process for the session's next turn.
    pub(super) fn start(
        &self,
        installation: &CliInstallation,
        session: &CliSession,
        prompt: &str,
    ) -> Result<AgentProcess> {
        self.with_run_context(installation, session, |run| {
            let mut run = *run;
            let kinds = installation.transport.temp_files.iter();
            let files: Vec<_> = kinds
                .map(|kind| Ok((kind, self.write_temp_file(*kind, &run)?)))
                .collect::<Result<_>>()?;
            for (kind, file) in &files {
                match kind {
                    TempFileKind::Schema => run.schema_file = file.as_deref(),
                    TempFileKind::McpServers => run.servers_file = file.as_deref(),
                }
            }
            let io = installation.transport.io;
            let stdin = match io {
                IoMode::OneShot(_) => Stdin::Bytes(prompt.as_bytes().to_vec()),
                _ => Stdin::Pipe,
            };
            let command = (installation.transport.command)(&run);
            let launch = self.launch(installation, session, &run, (command, stdin))?;
            let (program, context) = (self.profile.program, &self.context);
            let child = self.processes.start(program, context, launch.spec()?)?;
            let mut process = AgentProcess::new(child, program, io, &run)?;
            process.temp_files = files.into_iter().filter_map(|(_, file)| file).collect();
            Ok(process)
        })
    }

    /// Returns the launch of a process for this run.
    pub(super) fn launch<'a>(
        &'a self,
        installation: &'a CliInstallation,
        session: &CliSession,
        run: &RunContext<'a>,
        (command, stdin): (CommandLine, Stdin),
    ) -> Result<Launch<'a>> {
        let program = self.profile.program;
        let work = &session.options.work;
        let model_access = ModelAccess::open(program, &self.settings, &self.context, work)?;
        let files = [run.schema_file, run.servers_file].into_iter().flatten();
        Ok(Launch {
            program,
            path: &installation.path,
            context: &self.context,
            settings: &self.settings,
            model: run.model,
            cwd: run.cwd,
            access: run.access,
            readable: run.readable,
            command,
            stdin,
            files: files.collect(),
            servers: run.mcp_servers,
            home_files: Vec::new(),
            model_access,
        })
    }

    /// Calls `work` with the input of the session's next run.
    pub(super) fn with_run_context<T>(
        &self,
        installation: &CliInstallation,
        session: &CliSession,
        work: impl FnOnce(&RunContext<'_>) -> T,
    ) -> T {
        let options = &session.options;
        let (permissions, rules) =
            options.effective_permissions(self.settings.permissions.as_ref());
        let instructions = instructions::read(&session.cwd, self.profile.program.instructions);
        session.with_start(|start: SessionStart<'_>| {
            work(&RunContext {
                settings: &self.settings,
                version: installation.version,
                mechanism: self.context.sandbox().mechanism(),
                cwd: &session.cwd,
                access: options.effective_access(self.settings.permissions.as_ref()),
                readable: &options.readable,
                model: options.model.as_deref().or(self.settings.model.as_deref()),
                permissions,
                rules,
                instructions: instructions.as_deref(),
                mcp_servers: &options.mcp_servers,
                servers_file: None,
                schema: options.output_schema.as_ref(),
                schema_file: None,
                start,
                turn: session.turn_count(),
                before: session.total(),
            })
        })
    }

    /// Writes the file for the agent, if there is anything to write.
    fn write_temp_file(
        &self,
        kind: TempFileKind,
        run: &RunContext<'_>,
    ) -> Result<Option<TempPath>> {
        let (prefix, value) = match kind {
            TempFileKind::Schema => (temp_files::SCHEMA_PREFIX, run.schema.cloned()),
            TempFileKind::McpServers if run.mcp_servers.is_empty() => return Ok(None),
            TempFileKind::McpServers => {
                let table = json!({ "mcpServers": run.mcp_servers_json() });
                (temp_files::SERVERS_PREFIX, Some(table))
            }
        };
        let written =
            value.map(|value| temp_files::write(self.context.state_dir(), prefix, &value));
        written.transpose()
    }

    /// Converts the terminal event that the agent emitted instead of a session ID.
    fn session_error(&self, end: AgentEvent, wanted: Option<&SessionId>) -> Error {
        match (end, wanted) {
            (AgentEvent::SessionInvalid { .. }, Some(id)) => self.session_not_found(id),
            (AgentEvent::Error { code, message, .. }, _) => Error::agent(code, message),
            (other, _) => Error::agent(ErrorCode::BackendError, format!("no session: {other:?}")),
        }
    }

    /// Returns the error for an operation that the agent does not support.
    fn unsupported<T>(&self, what: &str) -> Result<T> {
        Err(Error::unsupported(self.profile.name(), what))
    }

    fn session_not_found(&self, id: &SessionId) -> Error {
        Error::SessionNotFound {
            backend: self.profile.name().to_owned(),
            session: id.clone(),
        }
    }
}
