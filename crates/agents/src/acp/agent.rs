//! One configured agent: creates and resumes its sessions, and starts their processes.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use agent_client_protocol::v1::schema::{
    EnvVariable, LoadSessionRequest, McpServer as AcpServer, McpServerStdio, Meta,
    NewSessionRequest, ResumeSessionRequest,
};
use windlass_core::{
    DirAccess, Error, ErrorCode, McpServer, PermissionPolicy, PermissionRule, Result, SessionId,
    SessionOptions,
};

use super::connection::{AgentInfo, Connection};
use super::launch::AcpLaunch;
use super::pool::{PooledProcess, ProcessKey, ProcessPool};
use super::preset::Preset;
use super::program;
use super::resume_guard;
use super::session_config::{self, OfferedOptions, RequestedOptions};
use super::sessions::{AcpSession, AcpSessions};
use crate::cli::{program as programs, version_cache};
use crate::{AgentContext, ProgramSettings, instructions};

/// One configured agent: its preset and settings, its sessions and its processes.
pub(super) struct AcpAgent {
    pub(super) preset: &'static Preset,
    pub(super) settings: ProgramSettings,
    pub(super) context: AgentContext,
    pub(super) sessions: AcpSessions,
    pub(super) pool: ProcessPool,
    pub(super) info: OnceLock<AgentInfo>,
}

impl AcpAgent {
    /// Returns the key of the process that a session needs.
    pub(super) fn key(&self, options: &SessionOptions, cwd: PathBuf) -> ProcessKey {
        let (policy, rules) = self.permissions(options);
        ProcessKey {
            cwd,
            model: self
                .model(options)
                .filter(|_| self.preset.quirks.model_is_launch_arg),
            asks_permission: policy != PermissionPolicy::Allow || !rules.is_empty(),
            access: options.effective_access(self.settings.permissions.as_ref()),
            readable: options.readable.clone(),
            servers: options.mcp_servers.clone(),
        }
    }

    fn model(&self, options: &SessionOptions) -> Option<String> {
        options
            .model
            .clone()
            .or_else(|| self.settings.model.clone())
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
        Error::unsupported(self.preset.name, what)
    }

    /// Returns the process for these sessions, and starts it if there is none.
    pub(super) async fn process(&self, key: &ProcessKey) -> Result<PooledProcess> {
        let process = self.pool.get(key, self.start(key)).await?;
        self.start_idle_timer(key);
        Ok(process)
    }

    /// Starts the idle timer of a process that is not in use now. A process whose sessions cannot be resumed is
    /// kept.
    pub(super) fn start_idle_timer(&self, key: &ProcessKey) {
        if self
            .info
            .get()
            .is_some_and(|info| info.capabilities.load_session)
        {
            let idle = self.context.clock().sleep(self.context.idle_timeout());
            self.pool.expire_after(key, idle);
        }
    }

    pub(super) async fn start(&self, key: &ProcessKey) -> Result<Connection> {
        let preset = self.preset;
        let program = program::find(preset, &self.settings, &self.context)?;
        let model = key.model.clone().or_else(|| self.settings.model.clone());
        let launch = AcpLaunch {
            preset,
            program: &program,
            context: &self.context,
            settings: &self.settings,
            cwd: &key.cwd,
            model: model
                .as_deref()
                .filter(|_| preset.quirks.model_is_launch_arg),
            asks_permission: key.asks_permission,
            access: key.access,
            readable: &key.readable,
            servers: &key.servers,
        };
        let spawned = self.context.sandbox().spawn(launch.spec()?);
        let child =
            spawned.map_err(|error| programs::not_started(preset.name, preset.install, &error))?;
        let connection = Connection::open(child, preset.name).await?;
        let _ = self.info.set(connection.info.clone());
        Ok(connection)
    }

    pub(super) async fn new_session(&self, options: SessionOptions) -> Result<SessionId> {
        let cwd = self.check(&options)?;
        let key = self.key(&options, cwd);
        let process = self.process(&key).await?;
        let id = self
            .start_session(&process.connection, &key, &options)
            .await?;
        self.register_session(id.clone(), options, key, (process.number, true))?;
        Ok(id)
    }

    /// Creates a session on this process.
    async fn start_session(
        &self,
        connection: &Connection,
        key: &ProcessKey,
        options: &SessionOptions,
    ) -> Result<SessionId> {
        let servers = self.servers(options);
        let request = NewSessionRequest::new(key.cwd.clone())
            .mcp_servers(servers)
            .meta(self.meta(key));
        let response = connection.request(request).await?;
        let id = response.session_id.0.to_string();
        let offered = OfferedOptions {
            modes: response.modes,
            options: response.config_options.unwrap_or_default(),
        };
        self.configure(connection, &id, &offered, options).await?;
        Ok(SessionId::from(id))
    }

    fn register_session(
        &self,
        id: SessionId,
        options: SessionOptions,
        key: ProcessKey,
        process: (u64, bool),
    ) -> Result<()> {
        let (policy, rules) = self.permissions(&options);
        let permissions = (policy, rules.to_vec());
        let cwd = key.cwd.clone();
        let session = AcpSession::new(options, permissions, cwd, key, process);
        self.sessions.insert(id, Arc::new(session))
    }

    pub(super) async fn load_session(&self, id: &SessionId, options: SessionOptions) -> Result<()> {
        let cwd = self.check(&options)?;
        let key = self.key(&options, cwd);
        let process = self.process(&key).await?;
        let known = self.sessions.get(self.preset.name, id).ok();
        // A process that already has the session needs no request.
        if known.is_none_or(|session| session.process() != process.number) {
            self.resume(&process.connection, id, &key, &options).await?;
        }
        self.register_session(id.clone(), options, key, (process.number, false))
    }

    /// Lets a process resume a session that it does not have.
    async fn resume(
        &self,
        connection: &Connection,
        id: &SessionId,
        key: &ProcessKey,
        options: &SessionOptions,
    ) -> Result<()> {
        let capabilities = &connection.info.capabilities;
        let (name, servers) = (id.as_str().to_owned(), self.servers(options));
        let meta = self.meta(key);
        resume_guard::ensure_resumable(self.preset, &self.context, &self.settings, id)?;
        let resumed = if capabilities.session_capabilities.resume.is_some() {
            let request = ResumeSessionRequest::new(name, key.cwd.clone())
                .mcp_servers(servers)
                .meta(meta);
            let response = connection.request(request).await;
            response.map(|response| (response.modes, response.config_options))
        } else if capabilities.load_session {
            let request = LoadSessionRequest::new(name, key.cwd.clone())
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
                    backend: self.preset.name.to_owned(),
                    session: id.clone(),
                }
            } else {
                error
            }
        })?;
        let offered = OfferedOptions {
            modes,
            options: config.unwrap_or_default(),
        };
        self.configure(connection, id.as_str(), &offered, options)
            .await
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
        let is_read_only = options.access == DirAccess::ReadOnly;
        let configured_mode = self.settings.mode.as_deref().filter(|_| !is_read_only);
        let model = self
            .model(options)
            .filter(|_| !self.preset.quirks.model_is_launch_arg);
        let requested = RequestedOptions {
            mode: configured_mode.or(by_policy),
            model: model.as_deref(),
            options: &self.settings.options,
        };
        session_config::apply(connection, id, offered, &requested).await
    }

    /// Returns a process that has the session, and the session's ID there. The process that had it may be gone.
    pub(super) async fn ensure_process(
        &self,
        id: &SessionId,
        session: &Arc<AcpSession>,
    ) -> Result<(PooledProcess, SessionId)> {
        let process = self.process(&session.key).await?;
        let connection = &process.connection;
        let mut name = id.clone();
        if session.process() != process.number {
            if session.has_turns() {
                self.resume(connection, id, &session.key, &session.options)
                    .await?;
            } else {
                // The session has no turns, so nothing is lost if it is recreated, and the agent may not have
                // saved it.
                name = self
                    .start_session(connection, &session.key, &session.options)
                    .await?;
                self.sessions.insert(name.clone(), Arc::clone(session))?;
            }
            session.set_process(process.number);
        }
        Ok((process, name))
    }

    /// Builds the `_meta` of a session request.
    fn meta(&self, key: &ProcessKey) -> Option<Meta> {
        let instructions = instructions::read(&key.cwd, self.preset.instructions);
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
