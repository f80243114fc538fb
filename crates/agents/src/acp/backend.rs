//! An ACP agent as a backend.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use agent_client_protocol::v1::schema::{
    CloseSessionRequest, EnvVariable, ListSessionsRequest, LoadSessionRequest,
    McpServer as AcpServer, McpServerStdio, NewSessionRequest, ResumeSessionRequest,
};
use futures::future::BoxFuture;
use serde_json::Value;
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, Capabilities, Error, ErrorCode, EventStream, McpServer,
    PermissionPolicy, PermissionRule, Prompt, Result, SessionId, SessionOptions, TurnLimits,
};

use super::connection::{About, Connection};
use super::launch::Launch;
use super::pool::{Key, Numbered, Pool};
use super::preset::Preset;
use super::presets::ANY;
use super::program::{self, Found};
use super::sessions::{Listed, Session, Sessions};
use super::setup::{self, Offered, Wanted};
use super::turn::Turn;
use super::{PRESETS, minute};
use crate::cli::{launch, program as programs, versions};
use crate::{AgentContext, Settings, Version};

/// How many pages of sessions are asked for.
const PAGES: usize = 20;

/// Talks to one agent.
pub struct AcpBackend {
    agent: Arc<Agent>,
}

/// One configured agent: its preset and settings, its sessions, its processes.
pub(super) struct Agent {
    pub(super) preset: &'static Preset,
    settings: Settings,
    context: AgentContext,
    sessions: Sessions,
    pub(super) pool: Pool,
    about: OnceLock<About>,
}

impl AcpBackend {
    /// The agent of this preset; without one, of the command in the settings.
    pub fn new(preset: Option<&'static Preset>, settings: Settings, context: AgentContext) -> Self {
        Self {
            agent: Arc::new(Agent {
                preset: preset.unwrap_or(&ANY),
                settings,
                context,
                sessions: Sessions::default(),
                pool: Pool::default(),
                about: OnceLock::new(),
            }),
        }
    }

    /// The sessions that the agent keeps for this folder, where it can say.
    pub async fn sessions(&self, cwd: PathBuf) -> Result<Vec<Listed>> {
        let agent = &self.agent;
        let key = agent.key(&SessionOptions::in_dir(&cwd), cwd.clone());
        let process = agent.process(&key).await?;
        if process
            .connection
            .about
            .can
            .session_capabilities
            .list
            .is_none()
        {
            return Err(agent.cannot("list its sessions"));
        }
        let mut all = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let request = ListSessionsRequest::new().cwd(cwd.clone()).cursor(cursor);
            let page = process.connection.ask(request).await?;
            all.extend(page.sessions.into_iter().map(|session| Listed {
                id: SessionId::from(session.session_id.0.to_string()),
                cwd: session.cwd,
                title: session.title,
            }));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(all)
    }

    /// Has the agent put a session away, where it can; here it is not known any more.
    pub async fn close(&self, id: &SessionId) -> Result<()> {
        let agent = &self.agent;
        let session = agent.sessions.get(self.name(), id)?;
        agent.sessions.remove(id);
        let Some(process) = agent.pool.any().filter(|it| it.number == session.process()) else {
            return Ok(());
        };
        if process
            .connection
            .about
            .can
            .session_capabilities
            .close
            .is_some()
        {
            let request = CloseSessionRequest::new(id.as_str().to_owned());
            process.connection.ask(request).await?;
        }
        Ok(())
    }
}

impl Agent {
    /// What a session wants of its process.
    fn key(&self, options: &SessionOptions, cwd: PathBuf) -> Key {
        let (policy, rules) = self.permissions(options);
        Key {
            cwd,
            model: self
                .model(options)
                .filter(|_| self.preset.shims.model_at_start),
            asks: policy != PermissionPolicy::Allow || !rules.is_empty(),
        }
    }

    fn model(&self, options: &SessionOptions) -> Option<String> {
        options
            .model
            .clone()
            .or_else(|| self.settings.model.clone())
    }

    /// What the user set for this agent goes over what a caller asks for.
    fn permissions(&self, options: &SessionOptions) -> (PermissionPolicy, Vec<PermissionRule>) {
        match &self.settings.permissions {
            Some(set) => (set.default, set.rules.clone()),
            None => (options.permissions, options.permission_rules.clone()),
        }
    }

    /// Refuses what the agent cannot do before anything is started.
    fn check(&self, options: &SessionOptions) -> Result<PathBuf> {
        if options.output_schema.is_some() {
            return Err(self.cannot("enforce a schema: put it into the prompt"));
        }
        if let Some(model) = &options.model {
            crate::settings::check_word(model)
                .map_err(|problem| Error::InvalidInput(format!("the model's name {problem}")))?;
        }
        let folder = match &options.cwd {
            Some(cwd) if cwd.is_absolute() => Ok(cwd.clone()),
            Some(cwd) => std::path::absolute(cwd),
            None => self.context.folder(),
        };
        folder.map_err(|error| Error::InvalidInput(format!("no working directory: {error}")))
    }

    fn cannot(&self, what: &str) -> Error {
        Error::Unsupported {
            backend: self.preset.name.to_owned(),
            what: what.to_owned(),
        }
    }

    /// The process for these sessions, started if there is none.
    async fn process(&self, key: &Key) -> Result<Numbered> {
        self.pool.get(key, self.start(key)).await
    }

    async fn start(&self, key: &Key) -> Result<Connection> {
        let preset = self.preset;
        let program = program::find(preset, &self.settings, &self.context)?;
        let model = key.model.clone().or_else(|| self.settings.model.clone());
        let launch = Launch {
            preset,
            program: &program,
            context: &self.context,
            settings: &self.settings,
            cwd: &key.cwd,
            model: model.as_deref().filter(|_| preset.shims.model_at_start),
            asks: key.asks,
        };
        let spawned = self.context.sandbox().spawn(launch.spec()?);
        let child =
            spawned.map_err(|error| programs::not_started(preset.name, preset.install, &error))?;
        let connection = Connection::over(child, preset.name).await?;
        let _ = self.about.set(connection.about.clone());
        Ok(connection)
    }

    async fn open(&self, options: SessionOptions) -> Result<SessionId> {
        let cwd = self.check(&options)?;
        let key = self.key(&options, cwd);
        let process = self.process(&key).await?;
        let id = self.begin(&process.connection, &key, &options).await?;
        self.keep(id.clone(), options, key, (process.number, true))?;
        Ok(id)
    }

    /// A new session on this process.
    async fn begin(
        &self,
        connection: &Connection,
        key: &Key,
        options: &SessionOptions,
    ) -> Result<SessionId> {
        let servers = self.servers(options);
        let request = NewSessionRequest::new(key.cwd.clone()).mcp_servers(servers);
        let answer = connection.ask(request).await?;
        let id = answer.session_id.0.to_string();
        let offered = Offered {
            modes: answer.modes,
            options: answer.config_options.unwrap_or_default(),
        };
        self.set_up(connection, &id, &offered, options).await?;
        Ok(SessionId::from(id))
    }

    fn keep(
        &self,
        id: SessionId,
        options: SessionOptions,
        key: Key,
        process: (u64, bool),
    ) -> Result<()> {
        let permissions = self.permissions(&options);
        let cwd = key.cwd.clone();
        let session = Session::new(options, permissions, cwd, key, process);
        self.sessions.insert(id, Arc::new(session))
    }

    async fn reopen(&self, id: &SessionId, options: SessionOptions) -> Result<()> {
        let cwd = self.check(&options)?;
        let key = self.key(&options, cwd);
        let process = self.process(&key).await?;
        let known = self.sessions.get(self.preset.name, id).ok();
        // A process that has the session need not be told.
        if known.is_none_or(|session| session.process() != process.number) {
            self.take_up(&process.connection, id, &key, &options)
                .await?;
        }
        self.keep(id.clone(), options, key, (process.number, false))
    }

    /// Has a process take up a session that it does not have.
    async fn take_up(
        &self,
        connection: &Connection,
        id: &SessionId,
        key: &Key,
        options: &SessionOptions,
    ) -> Result<()> {
        let can = &connection.about.can;
        let (name, servers) = (id.as_str().to_owned(), self.servers(options));
        minute::check(self.preset, &self.context, &self.settings, id)?;
        let taken = if can.session_capabilities.resume.is_some() {
            let request = ResumeSessionRequest::new(name, key.cwd.clone()).mcp_servers(servers);
            let answer = connection.ask(request).await;
            answer.map(|answer| (answer.modes, answer.config_options))
        } else if can.load_session {
            let request = LoadSessionRequest::new(name, key.cwd.clone()).mcp_servers(servers);
            let answer = connection.ask(request).await;
            answer.map(|answer| (answer.modes, answer.config_options))
        } else {
            return Err(self.cannot("take up an earlier session"));
        };
        let (modes, config) = taken.map_err(|error| match error.code() {
            ErrorCode::SessionOrphaned if connection.is_live() => Error::SessionNotFound {
                backend: self.preset.name.to_owned(),
                session: id.clone(),
            },
            _ => error,
        })?;
        let offered = Offered {
            modes,
            options: config.unwrap_or_default(),
        };
        self.set_up(connection, id.as_str(), &offered, options)
            .await
    }

    async fn set_up(
        &self,
        connection: &Connection,
        id: &str,
        offered: &Offered,
        options: &SessionOptions,
    ) -> Result<()> {
        let (policy, rules) = self.permissions(options);
        let asks = policy != PermissionPolicy::Allow || !rules.is_empty();
        let by_policy = self.preset.shims.mode(policy, asks);
        let model = self
            .model(options)
            .filter(|_| !self.preset.shims.model_at_start);
        let wanted = Wanted {
            mode: self.settings.mode.as_deref().or(by_policy),
            model: model.as_deref(),
            options: &self.settings.options,
        };
        setup::apply(connection, id, offered, &wanted).await
    }

    /// A process that has the session, and the session's name there: the process that had it is gone.
    pub(super) async fn revive(
        &self,
        id: &SessionId,
        session: &Arc<Session>,
    ) -> Result<(Numbered, SessionId)> {
        let process = self.process(&session.key).await?;
        let connection = &process.connection;
        let mut name = id.clone();
        if session.process() != process.number {
            if session.has_begun() {
                self.take_up(connection, id, &session.key, &session.options)
                    .await?;
            } else {
                // Nothing was said in it, so nothing is lost, and the agent may not have kept it.
                name = self
                    .begin(connection, &session.key, &session.options)
                    .await?;
                self.sessions.insert(name.clone(), Arc::clone(session))?;
            }
            session.moved_to(process.number);
        }
        Ok((process, name))
    }

    fn servers(&self, options: &SessionOptions) -> Vec<AcpServer> {
        let server = |server: &McpServer| {
            // The protocol wants the whole path.
            let command = versions::locate(&self.context, &server.command);
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

impl AgentBackend for AcpBackend {
    fn name(&self) -> &'static str {
        self.agent.preset.name
    }

    /// Until the agent has said it itself, what its preset says.
    fn capabilities(&self) -> Capabilities {
        match self.agent.about.get() {
            Some(about) => program::capabilities(self.agent.preset, about),
            None => self.agent.preset.capabilities,
        }
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(self.agent.open(options))
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.agent.reopen(id, options))
    }

    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        Box::pin(async move {
            let session = self.agent.sessions.get(self.name(), id)?;
            let before = session.process();
            let (process, name) = self.agent.revive(id, &session).await?;
            let untried = process.number == before && session.has_begun();
            let changed = (name != *id).then(|| AgentEvent::SessionChanged {
                new_session_id: name.as_str().to_owned(),
            });
            let agent = Arc::clone(&self.agent);
            let begun = (untried, changed);
            Ok(Turn::begin(
                agent,
                process,
                (name, session),
                prompt.text,
                begun,
            ))
        })
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.agent.sessions.get(self.name(), id)?.stop();
            Ok(())
        })
    }
}

impl std::fmt::Debug for AcpBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AcpBackend")
            .field("name", &self.agent.preset.name)
            .field("settings", &self.agent.settings)
            .finish_non_exhaustive()
    }
}

/// The preset that is meant: the one of the factory, else the one that the settings name, else none.
fn chosen(preset: Option<&'static Preset>, settings: &Settings) -> Result<Option<&'static Preset>> {
    let Some(name) = settings.preset.as_deref().filter(|_| preset.is_none()) else {
        return Ok(preset);
    };
    let known = super::preset(name);
    known.map(Some).ok_or_else(|| {
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        Error::config("preset", format!("expected one of {}", names.join(", ")))
    })
}

/// Makes agents of this preset from their configuration; without one, of the command or the preset that they name.
pub fn factory(
    preset: Option<&'static Preset>,
    context: AgentContext,
) -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
    move |config| {
        let settings = Settings::read(config)?;
        let preset = chosen(preset, &settings)?;
        let known = preset.unwrap_or(&ANY);
        if settings.endpoint.is_some() && !known.endpoint {
            return Err(launch::no_endpoint(known.name));
        }
        if known.programs.is_empty() && settings.command.is_empty() && settings.bin.is_none() {
            return Err(program::no_command());
        }
        let timeout = settings.timeout();
        let handle = AgentHandle::wrap(AcpBackend::new(preset, settings, context.clone()));
        Ok(match timeout {
            Some(deadline) => handle.with_limits(TurnLimits {
                deadline,
                ..handle.limits()
            }),
            None => handle,
        })
    }
}

/// Whether the agent is there, in which version, and what it can do; the error says how to get it.
///
/// One that says its version only in the protocol is started for it.
pub async fn probe(
    preset: Option<&'static Preset>,
    context: &AgentContext,
    config: &Value,
) -> Result<Found> {
    let settings = Settings::read(config)?;
    let preset = chosen(preset, &settings)?;
    let known = preset.unwrap_or(&ANY);
    let program = program::find(known, &settings, context)?;
    let mut found = Found {
        name: known.name,
        program: program.path.clone(),
        version: program::version(known, &program, &settings, context).await?,
        transport: "acp",
        can: known.capabilities,
    };
    if found.version.is_none() {
        let remembered = settings.command.is_empty();
        let backend = AcpBackend::new(preset, settings, context.clone());
        let folder = context.state().join("probe");
        let made = std::fs::create_dir_all(&folder);
        made.map_err(|error| Error::InvalidInput(format!("{}: {error}", folder.display())))?;
        let key = backend.agent.key(&SessionOptions::default(), folder);
        let about = backend.agent.start(&key).await?.about.clone();
        found.version = about
            .info
            .as_ref()
            .and_then(|info| Version::find(&info.version));
        found.can = program::capabilities(known, &about);
        if let Some(version) = found.version.filter(|_| remembered) {
            versions::remember(context, &program.path, version);
        }
    }
    Ok(found)
}
