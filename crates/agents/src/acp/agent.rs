//! One configured agent: creates and resumes its sessions, and starts their processes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use agent_client_protocol::v1::schema::{
    EnvVariable, LoadSessionRequest, McpServer as AcpServer, McpServerStdio, Meta,
    NewSessionRequest, ResumeSessionRequest,
};
use windlass_core::{
    DirAccess, Error, ErrorCode, McpServer, PermissionPolicy, PermissionRule, Result, SessionId,
    SessionOptions,
};
use windlass_sandbox::Stdin;

use super::connection::{AgentInfo, Connection};
use super::preset::{LaunchConfig, LaunchContext, Preset};
use super::session::{AcpSession, ProcessKey, SessionLocation};
use super::session_config::{self, OfferedOptions, RequestedOptions};
use super::{installation, resume_guard};
use crate::program::launch::Launch;
use crate::program::model_access::ModelAccess;
use crate::program::pool::{Pool, PoolLimits};
use crate::program::processes::Processes;
use crate::program::state_dirs::StateDirs;
use crate::program::{AgentProgram, CommandLine, instructions, template, version_cache};
use crate::session_table::SessionTable;
use crate::{AgentContext, ProgramSettings};

/// One configured agent: its preset and settings, its sessions and its processes.
pub(super) struct AcpAgent {
    pub(super) preset: &'static Preset,
    pub(super) settings: ProgramSettings,
    pub(super) context: AgentContext,
    pub(super) sessions: SessionTable<AcpSession>,
    pub(super) pool: Pool<ProcessKey, Arc<Connection>>,
    pub(super) processes: Processes,
    /// Counts the connections.
    connections: AtomicU64,
    pub(super) info: OnceLock<AgentInfo>,
}

impl AcpAgent {
    pub(super) fn new(
        preset: &'static Preset,
        settings: ProgramSettings,
        context: AgentContext,
    ) -> Self {
        let limits = PoolLimits::processes(context.idle_timeout());
        Self {
            preset,
            settings,
            sessions: SessionTable::default(),
            pool: Pool::new(Arc::clone(context.clock()), limits),
            processes: Processes::default(),
            connections: AtomicU64::new(0),
            context,
            info: OnceLock::new(),
        }
    }

    /// Returns the same agent without sessions and processes.
    pub(super) fn scoped(&self) -> Self {
        let scoped = Self::new(self.preset, self.settings.clone(), self.context.clone());
        Self {
            info: self.info.clone(),
            ..scoped
        }
    }

    /// Ends all processes.
    pub(super) async fn close(&self) {
        self.pool.close().await;
        self.processes.close().await;
    }

    /// Returns the key of the process that a session needs.
    pub(super) fn key(&self, options: &SessionOptions, cwd: PathBuf) -> ProcessKey {
        let (policy, rules) = self.permissions(options);
        ProcessKey {
            cwd,
            model: self.model(options).filter(|_| self.model_is_launch_arg()),
            asks_permission: policy != PermissionPolicy::Allow || !rules.is_empty(),
            access: options.effective_access(self.settings.permissions.as_ref()),
            readable: options.readable.clone(),
            servers: options.mcp_servers.clone(),
            work: options.work.clone(),
        }
    }

    fn model(&self, options: &SessionOptions) -> Option<String> {
        options
            .model
            .clone()
            .or_else(|| self.settings.model.clone())
    }

    /// Returns `true` if the model is chosen when the process is started.
    fn model_is_launch_arg(&self) -> bool {
        self.preset.quirks.model_is_launch_arg || template::uses(&self.settings, template::MODEL)
    }

    fn permissions<'a>(
        &'a self,
        options: &'a SessionOptions,
    ) -> (PermissionPolicy, &'a [PermissionRule]) {
        options.effective_permissions(self.settings.permissions.as_ref())
    }

    /// Rejects unsupported options before anything is started.
    fn check(&self, options: &SessionOptions) -> Result<PathBuf> {
        if options.output_schema.is_some() {
            return Err(self.unsupported("enforce a schema: put it into the prompt"));
        }
        if let Some(model) = &options.model {
            crate::settings::check_argument(model)
                .map_err(|problem| Error::InvalidInput(format!("the model's name {problem}")))?;
        }
        let cwd = match &options.cwd {
            Some(cwd) if cwd.is_absolute() => Ok(cwd.clone()),
            Some(cwd) => std::path::absolute(cwd),
            None => self.context.working_dir(),
        };
        cwd.map_err(|error| Error::InvalidInput(format!("no working directory: {error}")))
    }

    pub(super) fn unsupported(&self, what: &str) -> Error {
        Error::unsupported(self.preset.name(), what)
    }

    /// Returns the process for these sessions, and starts it if necessary.
    pub(super) async fn process(&self, key: &ProcessKey) -> Result<Arc<Connection>> {
        let start = async { self.start(key).await.map(Arc::new) };
        self.pool.get_or_start(key, start).await
    }

    pub(super) async fn start(&self, key: &ProcessKey) -> Result<Connection> {
        let preset = self.preset;
        let program = installation::find(preset, &self.settings, &self.context)?;
        let (settings, context) = (&self.settings, &self.context);
        let model_access = ModelAccess::open(preset.program, settings, context, &key.work)?;
        let model = key.model.as_deref().or(self.settings.model.as_deref());
        let dirs = StateDirs::new(preset.program, &self.settings, &self.context);
        let default_state_dir = dirs.dirs.first().filter(|_| dirs.moved_to.is_none());
        let launch_context = LaunchContext {
            default_state_dir: default_state_dir.map(PathBuf::as_path),
            endpoint: model_access.endpoint(),
            model: model.filter(|_| self.model_is_launch_arg()),
            cwd: &key.cwd,
            asks_permission: key.asks_permission,
            mechanism: self.context.sandbox().mechanism(),
        };
        let mut config = LaunchConfig {
            command: CommandLine::new(program.args.iter().map(String::as_str)),
            ..LaunchConfig::default()
        };
        (preset.launch_config)(&launch_context, &mut config);
        let launch = Launch {
            program: preset.program,
            path: &program.path,
            context: &self.context,
            settings: &self.settings,
            model,
            cwd: &key.cwd,
            access: key.access,
            readable: &key.readable,
            command: config.command,
            stdin: Stdin::Pipe,
            files: Vec::new(),
            servers: &key.servers,
            home_files: config.files,
            model_access,
        };
        let spec = launch.spec()?;
        let child = self.processes.start(preset.program, &self.context, spec)?;
        let number = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        let connection = Connection::open(child, self.label(&program.path), number).await?;
        let _ = self.info.set(connection.info.clone());
        Ok(connection)
    }

    /// Returns the agent's name for messages, and its record: an agent without a preset is named by its program.
    fn label(&self, program: &str) -> (String, &'static AgentProgram) {
        let record = self.preset.program;
        let file = Path::new(program).file_name().and_then(OsStr::to_str);
        let name = file.filter(|_| record.programs.is_empty());
        (name.unwrap_or(record.name).to_owned(), record)
    }

    pub(super) async fn new_session(&self, options: SessionOptions) -> Result<SessionId> {
        let cwd = self.check(&options)?;
        let key = self.key(&options, cwd);
        let connection = self.process(&key).await?;
        let location = self.start_session(&connection, &key, &options).await?;
        let name = location.name.clone();
        let session = self.session(location, false, options, key);
        self.sessions.add(&name, session)
    }

    /// Creates a session on this connection.
    async fn start_session(
        &self,
        connection: &Connection,
        key: &ProcessKey,
        options: &SessionOptions,
    ) -> Result<SessionLocation> {
        let servers = self.servers(options);
        let request = NewSessionRequest::new(key.cwd.clone())
            .mcp_servers(servers)
            .meta(self.meta(key));
        let response = connection.request(request).await?;
        let location = SessionLocation {
            connection: connection.number,
            name: response.session_id.0.to_string(),
        };
        if self.sessions.any(|known| known.location() == location) {
            let (agent, name) = (self.preset.name(), &location.name);
            let message =
                format!("{agent} used the session ID {name} twice: report this to its authors");
            return Err(Error::agent(ErrorCode::BackendError, message));
        }
        let offered = OfferedOptions {
            modes: response.modes,
            options: response.config_options.unwrap_or_default(),
        };
        self.configure(connection, &location.name, &offered, options)
            .await?;
        Ok(location)
    }

    fn session(
        &self,
        location: SessionLocation,
        resumed: bool,
        options: SessionOptions,
        key: ProcessKey,
    ) -> Arc<AcpSession> {
        let (policy, rules) = self.permissions(&options);
        let permissions = (policy, rules.to_vec());
        Arc::new(AcpSession::at(location, resumed, options, permissions, key))
    }

    pub(super) async fn load_session(&self, id: &SessionId, options: SessionOptions) -> Result<()> {
        let cwd = self.check(&options)?;
        let key = self.key(&options, cwd);
        let connection = self.process(&key).await?;
        let known = self.sessions.get(self.preset.name(), id).ok();
        let known = known.map(|session| session.location());
        let name = known.as_ref().map_or(id.as_str(), |known| &known.name);
        let location = SessionLocation {
            connection: connection.number,
            name: name.to_owned(),
        };
        // A process that already has the session needs no request.
        if known.as_ref() != Some(&location) {
            self.resume(&connection, name, &key, &options).await?;
        }
        let session = self.session(location, true, options, key);
        self.sessions.replace(id.clone(), session)
    }

    /// Lets a process resume a session that it does not have.
    async fn resume(
        &self,
        connection: &Connection,
        name: &str,
        key: &ProcessKey,
        options: &SessionOptions,
    ) -> Result<()> {
        let capabilities = &connection.info.capabilities;
        let servers = self.servers(options);
        let meta = self.meta(key);
        resume_guard::ensure_resumable(self.preset, &self.context, &self.settings, name).await?;
        let resumed = if capabilities.session_capabilities.resume.is_some() {
            let request = ResumeSessionRequest::new(name.to_owned(), key.cwd.clone())
                .mcp_servers(servers)
                .meta(meta);
            let response = connection.request(request).await;
            response.map(|response| (response.modes, response.config_options))
        } else if capabilities.load_session {
            let request = LoadSessionRequest::new(name.to_owned(), key.cwd.clone())
                .mcp_servers(servers)
                .meta(meta);
            let response = connection.request(request).await;
            response.map(|response| (response.modes, response.config_options))
        } else {
            return Err(self.unsupported("resume an earlier session"));
        };
        let (modes, config) = resumed.map_err(|error| {
            let message = error.to_string();
            let is_vague_loss = self
                .preset
                .quirks
                .session_lost_phrases
                .iter()
                .any(|phrase| message.contains(phrase));
            let is_lost = is_vague_loss || error.code() == ErrorCode::SessionOrphaned;
            if is_lost && connection.is_live() {
                Error::SessionNotFound {
                    backend: self.preset.name().to_owned(),
                    session: name.into(),
                }
            } else {
                error
            }
        })?;
        let offered = OfferedOptions {
            modes,
            options: config.unwrap_or_default(),
        };
        self.configure(connection, name, &offered, options).await
    }

    async fn configure(
        &self,
        connection: &Connection,
        id: &str,
        offered: &OfferedOptions,
        options: &SessionOptions,
    ) -> Result<()> {
        let (policy, rules) = self.permissions(options);
        let asks_permission = policy != PermissionPolicy::Allow || !rules.is_empty();
        let by_policy = self.preset.quirks.mode(policy, asks_permission);
        // A configured mode may let the agent write without asking.
        let is_requested = options.access == DirAccess::ReadOnly;
        let configured_mode = self.settings.mode.as_deref().filter(|_| !is_requested);
        let access = options.effective_access(self.settings.permissions.as_ref());
        let is_read_only = access == DirAccess::ReadOnly && configured_mode.is_none();
        let model = self.model(options).filter(|_| !self.model_is_launch_arg());
        let requested = RequestedOptions {
            mode: configured_mode.or(by_policy),
            is_read_only,
            model: model.as_deref(),
            options: &self.settings.options,
        };
        session_config::apply(connection, id, offered, &requested).await
    }

    /// Returns the connection that has the session, and the session's ID. The process that had it may be gone.
    pub(super) async fn ensure_process(
        &self,
        id: &SessionId,
        session: &Arc<AcpSession>,
    ) -> Result<(Arc<Connection>, SessionId)> {
        let key = &session.detail.key;
        let connection = self.process(key).await?;
        let SessionLocation { name, .. } = session.location();
        if session.location().connection == connection.number {
            return Ok((connection, id.clone()));
        }
        if session.has_turns() {
            self.resume(&connection, &name, key, &session.options)
                .await?;
            let number = connection.number;
            session.set_location(SessionLocation {
                connection: number,
                name,
            });
            return Ok((connection, id.clone()));
        }
        // The session has no turns, so nothing is lost if it is recreated, and the agent may not have saved it.
        let location = self
            .start_session(&connection, key, &session.options)
            .await?;
        let id = self.sessions.add(&location.name, Arc::clone(session))?;
        session.set_location(location);
        Ok((connection, id))
    }

    /// Builds the `_meta` of a session request.
    fn meta(&self, key: &ProcessKey) -> Option<Meta> {
        let instructions = instructions::read(&key.cwd, self.preset.program.instructions);
        let meta = (self.preset.meta?)(instructions.as_deref());
        meta.as_object().cloned()
    }

    fn servers(&self, options: &SessionOptions) -> Vec<AcpServer> {
        let server = |server: &McpServer| {
            // The protocol requires an absolute path.
            let command = version_cache::locate(&self.context, &server.command);
            let command = command.unwrap_or_else(|| PathBuf::from(&server.command));
            let env = server.env.iter();
            let env = env.map(|(name, value)| EnvVariable::new(name.clone(), value.clone()));
            let stdio = McpServerStdio::new(server.name.clone(), command)
                .args(server.args.clone())
                .env(env.collect::<Vec<_>>());
            AcpServer::Stdio(stdio)
        };
        options.mcp_servers.iter().map(server).collect()
    }
}
