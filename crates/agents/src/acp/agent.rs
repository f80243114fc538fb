//! One configured agent: how its sessions begin, are taken up, and get a process.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use agent_client_protocol::v1::schema::{
    EnvVariable, LoadSessionRequest, McpServer as AcpServer, McpServerStdio, Meta,
    NewSessionRequest, ResumeSessionRequest,
};
use windlass_core::{
    Error, ErrorCode, McpServer, PermissionPolicy, PermissionRule, Result, SessionId,
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

/// One configured agent: its preset and settings, its sessions, its processes.
pub(super) struct AcpAgent {
    pub(super) preset: &'static Preset,
    pub(super) settings: ProgramSettings,
    pub(super) context: AgentContext,
    pub(super) sessions: AcpSessions,
    pub(super) pool: ProcessPool,
    pub(super) about: OnceLock<AgentInfo>,
}

impl AcpAgent {
    /// What a session wants of its process.
    pub(super) fn key(&self, options: &SessionOptions, cwd: PathBuf) -> ProcessKey {
        let (policy, rules) = self.permissions(options);
        ProcessKey {
            cwd,
            model: self
                .model(options)
                .filter(|_| self.preset.shims.model_is_launch_arg),
            asks: policy != PermissionPolicy::Allow || !rules.is_empty(),
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

    /// Refuses what the agent cannot do before anything is started.
    fn check(&self, options: &SessionOptions) -> Result<PathBuf> {
        if options.output_schema.is_some() {
            return Err(self.unsupported("enforce a schema: put it into the prompt"));
        }
        if let Some(model) = &options.model {
            crate::settings::check_argument(model)
                .map_err(|problem| Error::InvalidInput(format!("the model's name {problem}")))?;
        }
        let folder = match &options.cwd {
            Some(cwd) if cwd.is_absolute() => Ok(cwd.clone()),
            Some(cwd) => std::path::absolute(cwd),
            None => self.context.working_dir(),
        };
        folder.map_err(|error| Error::InvalidInput(format!("no working directory: {error}")))
    }

    pub(super) fn unsupported(&self, what: &str) -> Error {
        Error::Unsupported {
            backend: self.preset.name.to_owned(),
            what: what.to_owned(),
        }
    }

    /// The process for these sessions, started if there is none.
    pub(super) async fn process(&self, key: &ProcessKey) -> Result<PooledProcess> {
        let process = self.pool.get(key, self.start(key)).await?;
        self.start_idle_timer(key);
        Ok(process)
    }

    /// The process is not in use now: it ends if nobody comes. Where a session cannot be taken up again, it stays.
    pub(super) fn start_idle_timer(&self, key: &ProcessKey) {
        if self.about.get().is_some_and(|about| about.can.load_session) {
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
                .filter(|_| preset.shims.model_is_launch_arg),
            asks: key.asks,
        };
        let spawned = self.context.sandbox().spawn(launch.spec()?);
        let child =
            spawned.map_err(|error| programs::not_started(preset.name, preset.install, &error))?;
        let connection = Connection::open(child, preset.name).await?;
        let _ = self.about.set(connection.about.clone());
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

    /// A new session on this process.
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
        let answer = connection.request(request).await?;
        let id = answer.session_id.0.to_string();
        let offered = OfferedOptions {
            modes: answer.modes,
            options: answer.config_options.unwrap_or_default(),
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
        // A process that has the session need not be told.
        if known.is_none_or(|session| session.process() != process.number) {
            self.resume(&process.connection, id, &key, &options).await?;
        }
        self.register_session(id.clone(), options, key, (process.number, false))
    }

    /// Has a process take up a session that it does not have.
    async fn resume(
        &self,
        connection: &Connection,
        id: &SessionId,
        key: &ProcessKey,
        options: &SessionOptions,
    ) -> Result<()> {
        let can = &connection.about.can;
        let (name, servers) = (id.as_str().to_owned(), self.servers(options));
        let meta = self.meta(key);
        resume_guard::ensure_resumable(self.preset, &self.context, &self.settings, id)?;
        let taken = if can.session_capabilities.resume.is_some() {
            let request = ResumeSessionRequest::new(name, key.cwd.clone())
                .mcp_servers(servers)
                .meta(meta);
            let answer = connection.request(request).await;
            answer.map(|answer| (answer.modes, answer.config_options))
        } else if can.load_session {
            let request = LoadSessionRequest::new(name, key.cwd.clone())
                .mcp_servers(servers)
                .meta(meta);
            let answer = connection.request(request).await;
            answer.map(|answer| (answer.modes, answer.config_options))
        } else {
            return Err(self.unsupported("take up an earlier session"));
        };
        let (modes, config) = taken.map_err(|error| {
            let said = error.to_string();
            let vague = self
                .preset
                .shims
                .session_lost_phrases
                .iter()
                .any(|words| said.contains(words));
            let is_lost = vague || error.code() == ErrorCode::SessionOrphaned;
            match is_lost && connection.is_live() {
                true => Error::SessionNotFound {
                    backend: self.preset.name.to_owned(),
                    session: id.clone(),
                },
                false => error,
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
        let asks = policy != PermissionPolicy::Allow || !rules.is_empty();
        let by_policy = self.preset.shims.mode(policy, asks);
        // A mode that somebody set may let the agent write without asking.
        let own_mode = self.settings.mode.as_deref().filter(|_| !options.read_only);
        let model = self
            .model(options)
            .filter(|_| !self.preset.shims.model_is_launch_arg);
        let wanted = RequestedOptions {
            mode: own_mode.or(by_policy),
            model: model.as_deref(),
            options: &self.settings.options,
        };
        session_config::apply(connection, id, offered, &wanted).await
    }

    /// A process that has the session, and the session's name there: the process that had it is gone.
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
                // Nothing was said in it, so nothing is lost, and the agent may not have kept it.
                name = self
                    .start_session(connection, &session.key, &session.options)
                    .await?;
                self.sessions.insert(name.clone(), Arc::clone(session))?;
            }
            session.set_process(process.number);
        }
        Ok((process, name))
    }

    /// What goes with the request for a session.
    fn meta(&self, key: &ProcessKey) -> Option<Meta> {
        let words = instructions::read(&key.cwd, self.preset.words);
        let meta = (self.preset.meta?)(words.as_deref());
        meta.as_object().cloned()
    }

    fn servers(&self, options: &SessionOptions) -> Vec<AcpServer> {
        let server = |server: &McpServer| {
            // The protocol wants the whole path.
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
