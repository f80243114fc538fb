//! An ACP agent as an [`AgentBackend`].

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::v1::schema::{CloseSessionRequest, ListSessionsRequest};
use futures::future::BoxFuture;
use serde_json::Value;
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, Capabilities, Error, EventStream, Prompt, Result,
    SessionId, SessionOptions, TurnLimits,
};

use super::agent::AcpAgent;
use super::preset::Preset;
use super::presets::{GENERIC, PRESETS};
use super::session::SessionInfo;
use super::turn::AcpTurn;
use super::{installation, recognize};
use crate::program::{Installation, Version, login, model_access, version_cache};
use crate::{AgentContext, ProgramSettings};

/// Time limit for creating a session and its process: on a busy machine some agents take more than a minute.
const OPEN_TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum number of pages of a session list.
const MAX_SESSION_PAGES: usize = 20;

/// Drives one ACP agent.
pub struct AcpBackend {
    agent: Arc<AcpAgent>,
}

impl AcpBackend {
    /// Creates a backend for the agent of this preset, or without a preset for the command in the settings.
    pub fn new(
        preset: Option<&'static Preset>,
        settings: ProgramSettings,
        context: AgentContext,
    ) -> Self {
        Self {
            agent: Arc::new(AcpAgent::new(preset.unwrap_or(&GENERIC), settings, context)),
        }
    }

    /// Returns the agent's sessions in this directory, if it can list them.
    pub async fn list_sessions(&self, cwd: PathBuf) -> Result<Vec<SessionInfo>> {
        let agent = &self.agent;
        let key = agent.key(&SessionOptions::in_dir(&cwd), cwd.clone());
        let connection = agent.process(&key).await?;
        let can = &connection.info.capabilities.session_capabilities;
        if can.list.is_none() {
            return Err(agent.unsupported("list its sessions"));
        }
        let mut all = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_SESSION_PAGES {
            let request = ListSessionsRequest::new().cwd(cwd.clone()).cursor(cursor);
            let page = connection.request(request).await?;
            all.extend(page.sessions.into_iter().map(|session| SessionInfo {
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

    /// Closes a session, if the agent supports that. The backend forgets the session in any case.
    pub async fn close_session(&self, id: &SessionId) -> Result<()> {
        let agent = &self.agent;
        let session = agent.sessions.get(self.name(), id)?;
        agent.sessions.remove(id);
        let location = session.location();
        let connection = agent.pool.get(&session.detail.key);
        let connection = connection.filter(|known| known.number == location.connection);
        let Some(connection) = connection else {
            return Ok(());
        };
        let can = &connection.info.capabilities.session_capabilities;
        if can.close.is_some() {
            let request = CloseSessionRequest::new(location.name);
            connection.request(request).await?;
        }
        Ok(())
    }
}

impl AgentBackend for AcpBackend {
    fn name(&self) -> &'static str {
        self.agent.preset.name()
    }

    /// Until the agent has reported its capabilities, those of its preset are returned.
    fn capabilities(&self) -> Capabilities {
        match self.agent.info.get() {
            Some(info) => installation::capabilities(self.agent.preset, info),
            None => self.agent.preset.capabilities,
        }
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(self.agent.new_session(options))
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.agent.load_session(id, options))
    }

    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        Box::pin(async move {
            let session = self.agent.sessions.get(self.name(), id)?;
            let before = session.location().connection;
            let (connection, new_id) = self.agent.ensure_process(id, &session).await?;
            let may_be_stale = connection.number == before;
            let changed = (new_id != *id).then(|| AgentEvent::SessionChanged {
                new_session_id: new_id.as_str().to_owned(),
            });
            let agent = Arc::clone(&self.agent);
            let start = (may_be_stale, changed);
            Ok(AcpTurn::start(
                agent,
                connection,
                (new_id, session),
                prompt.text,
                start,
            ))
        })
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.agent.sessions.get(self.name(), id)?.stop();
            Ok(())
        })
    }

    fn scoped(&self) -> Option<Arc<dyn AgentBackend>> {
        let agent = Arc::new(self.agent.scoped());
        Some(Arc::new(Self { agent }))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.agent.close())
    }
}

impl std::fmt::Debug for AcpBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AcpBackend")
            .field("name", &self.agent.preset.name())
            .field("settings", &self.agent.settings)
            .finish_non_exhaustive()
    }
}

/// Returns the preset to use: that of the factory, otherwise the one in the settings, otherwise the one of the program
/// that is started, if it is a known agent.
fn select_preset(
    preset: Option<&'static Preset>,
    settings: &ProgramSettings,
) -> Result<Option<&'static Preset>> {
    if preset.is_some() {
        return Ok(preset);
    }
    let Some(name) = settings.preset.as_deref() else {
        let by_program = settings.bin.as_slice();
        return Ok(recognize::preset(&settings.command).or_else(|| recognize::preset(by_program)));
    };
    let known = super::preset(name);
    known.map(Some).ok_or_else(|| {
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name()).collect();
        Error::config("preset", format!("expected one of {}", names.join(", ")))
    })
}

/// Returns a factory that creates agents of this preset from their configuration. Without a preset, the
/// configuration must have `command` or `preset`.
pub fn factory(
    preset: Option<&'static Preset>,
    context: AgentContext,
) -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
    move |config| {
        let settings = ProgramSettings::from_value(config)?;
        let preset = select_preset(preset, &settings)?;
        let known = preset.unwrap_or(&GENERIC);
        model_access::check_endpoint(known.program, &settings)?;
        let programs = known.program.programs;
        if programs.is_empty() && settings.command.is_empty() && settings.bin.is_none() {
            return Err(installation::missing_command());
        }
        let timeout = settings.timeout();
        let handle = AgentHandle::wrap(AcpBackend::new(preset, settings, context.clone()));
        let limits = handle.limits();
        Ok(handle.with_limits(TurnLimits {
            // The start of the agent has the limit of a turn, if that is shorter.
            open: timeout.map_or(OPEN_TIMEOUT, |timeout| timeout.min(OPEN_TIMEOUT)),
            deadline: timeout.unwrap_or(limits.deadline),
            ..limits
        }))
    }
}

/// Checks whether the agent is installed, and returns its version and capabilities. The error says how to
/// install it.
///
/// An agent that reports its version only over the protocol is started to get it.
pub async fn probe(
    preset: Option<&'static Preset>,
    context: &AgentContext,
    config: &Value,
) -> Result<Installation> {
    let settings = ProgramSettings::from_value(config)?;
    let preset = select_preset(preset, &settings)?;
    let known = preset.unwrap_or(&GENERIC);
    let program = installation::find(known, &settings, context)?;
    let mut found = Installation {
        name: known.name(),
        program: program.path.clone(),
        version: installation::version(known, &program, &settings, context).await?,
        transport: "acp",
        capabilities: known.capabilities,
        login: login::find(known.program, &settings, context),
    };
    if found.version.is_none() {
        let cacheable = settings.command.is_empty();
        let backend = AcpBackend::new(preset, settings, context.clone());
        let dir = context.state_dir().join("probe");
        let created = std::fs::create_dir_all(&dir);
        created.map_err(|error| Error::InvalidInput(format!("{}: {error}", dir.display())))?;
        let key = backend.agent.key(&SessionOptions::default(), dir);
        let info = backend.agent.start(&key).await?.info.clone();
        found.version = info
            .implementation
            .as_ref()
            .and_then(|implementation| Version::find_in(&implementation.version));
        found.capabilities = installation::capabilities(known, &info);
        if let Some(version) = found.version.filter(|_| cacheable) {
            version_cache::put(context, &program.path, version);
        }
    }
    Ok(found)
}

/// Finds the program of the agent, without starting it. The error says how to install it.
pub fn find_program(
    preset: Option<&'static Preset>,
    context: &AgentContext,
    config: &Value,
) -> Result<String> {
    let settings = ProgramSettings::from_value(config)?;
    let preset = select_preset(preset, &settings)?;
    let program = installation::find(preset.unwrap_or(&GENERIC), &settings, context)?;
    Ok(program.path)
}
