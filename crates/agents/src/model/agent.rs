//! A model behind HTTP as an agent like any other.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use windlass_core::{
    AgentBackend, AgentHandle, Capabilities, Clock, Error, ErrorCode, EventStream,
    PermissionPolicy, PermissionRule, Prompt, Result, SessionId, SessionOptions, SystemClock,
    Toolbox, TurnLimits,
};
use windlass_mcp::McpServers;

use super::client::ModelClient;
use super::completion::with_completion_model;
use super::mcp;
use super::session::{ModelSession, ModelSessions};
use super::tool_set::ToolSet;
use super::turn::ModelTurn;
use super::{ModelKind, ModelSettings};
use crate::AgentContext;
use crate::http::{ApiKey, BaseUrl, Client};

/// A model with tools.
///
/// Its turns are a loop: the model answers, its calls are run in the session's folder, and it is told what came of
/// them, until it calls nothing more. Conversations are kept in memory, as long as the agent is.
#[derive(Clone)]
pub struct ModelAgent {
    pub(super) shared: Arc<ModelState>,
}

/// What all turns of one agent share.
pub(super) struct ModelState {
    pub(super) kind: ModelKind,
    pub(super) settings: ModelSettings,
    pub(super) line: Arc<ModelClient>,
    pub(super) clock: Arc<dyn Clock>,
    context: AgentContext,
    toolbox: Arc<dyn Toolbox>,
    sessions: ModelSessions,
    /// The variable that should hold the key and does not.
    missing_key: Option<String>,
}

impl ModelAgent {
    /// The model of these settings, with the tools of this box.
    pub fn new(
        kind: ModelKind,
        settings: ModelSettings,
        context: AgentContext,
        toolbox: Arc<dyn Toolbox>,
    ) -> Result<Self> {
        Self::with_clock(
            kind,
            settings,
            context,
            toolbox,
            Arc::new(SystemClock::new()),
        )
    }

    /// The same, taking time from elsewhere.
    pub fn with_clock(
        kind: ModelKind,
        settings: ModelSettings,
        context: AgentContext,
        toolbox: Arc<dyn Toolbox>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        if settings.model.is_none() && kind.default_model().is_none() {
            return Err(Error::config("model", "is not set: say which model to use"));
        }
        let endpoint = settings.endpoint.as_deref().unwrap_or(kind.endpoint());
        let address =
            BaseUrl::parse(endpoint).map_err(|problem| Error::config("endpoint", problem))?;
        // The provider's own key goes to the provider only; another server gets the key that was named for it.
        let usual = kind
            .default_key_var()
            .filter(|_| settings.endpoint.is_none());
        let variable = settings.api_key_env.as_deref().or(usual);
        let secret = variable.and_then(|variable| context.secret(variable));
        let missing_key = variable.filter(|_| secret.is_none()).map(str::to_owned);
        let client = Client::new(
            address,
            ApiKey::new(secret),
            settings.limits(),
            Arc::clone(&clock),
        );
        let client = client.map_err(|problem| Error::Unavailable {
            backend: kind.name().to_owned(),
            problem,
        })?;
        let line = Arc::new(ModelClient::new(client, kind.dialect(settings.api())));
        Ok(Self {
            shared: Arc::new(ModelState {
                kind,
                settings,
                line,
                clock,
                context,
                toolbox,
                sessions: ModelSessions::default(),
                missing_key,
            }),
        })
    }

    /// The agent behind a handle, with the time limit of its settings.
    pub fn handle(&self) -> AgentHandle {
        let handle = AgentHandle::wrap(self.clone()).with_clock(Arc::clone(&self.shared.clock));
        let handle = with_completion_model(&handle, Arc::new(self.clone()));
        match self.shared.settings.timeout() {
            Some(deadline) => handle.with_limits(TurnLimits {
                deadline,
                ..handle.limits()
            }),
            None => handle,
        }
    }
}

impl ModelState {
    /// The model that a session asks.
    pub(super) fn model<'a>(&'a self, options: &'a SessionOptions) -> &'a str {
        let chosen = options.model.as_deref().or(self.settings.model.as_deref());
        chosen.or(self.kind.default_model()).unwrap_or_default()
    }

    /// What a session may do, and the exceptions.
    pub(super) fn effective_permissions<'a>(
        &'a self,
        options: &'a SessionOptions,
    ) -> (PermissionPolicy, &'a [PermissionRule]) {
        options.effective_permissions(self.settings.permissions.as_ref())
    }

    /// Why nobody can be asked, if nobody can.
    pub(super) fn require_key(&self) -> Result<()> {
        match &self.missing_key {
            Some(variable) => Err(Error::agent(
                ErrorCode::AuthFailed,
                format!("{} has no key: set the variable {variable}", self.kind),
            )),
            None => Ok(()),
        }
    }

    /// The tools of a session, bound to its folder.
    async fn prepare(&self, options: &SessionOptions) -> Result<ToolSet> {
        self.require_key()?;
        if options.output_schema.is_some() && !self.settings.enforces_schema(self.kind) {
            return Err(Error::Unsupported {
                backend: self.kind.name().to_owned(),
                what: "enforce a schema: put it into the prompt, or set schema_mode to native if the server does"
                    .to_owned(),
            });
        }
        let cwd = match &options.cwd {
            Some(cwd) => cwd.clone(),
            None => self
                .context
                .working_dir()
                .map_err(|error| Error::InvalidInput(format!("no working directory: {error}")))?,
        };
        let mut kit = ToolSet::default();
        if self.settings.tools {
            kit.add(self.toolbox.tools(&cwd)?);
        }
        if !options.mcp_servers.is_empty() {
            let servers =
                McpServers::connect(self.context.sandbox(), &options.mcp_servers, &cwd).await;
            let servers = servers.map_err(|error| Error::agent(error.code(), error.to_string()))?;
            kit.add(mcp::tools(&Arc::new(servers)));
        }
        Ok(kit)
    }
}

impl AgentBackend for ModelAgent {
    fn name(&self) -> &'static str {
        self.shared.kind.name()
    }

    fn capabilities(&self) -> Capabilities {
        let settings = &self.shared.settings;
        Capabilities {
            streaming: settings.stream,
            load_session: true,
            tools: settings.tools,
            permissions: true,
            native_schema: settings.enforces_schema(self.shared.kind),
            mcp: true,
            model_choice: true,
            usage: true,
            cost: settings.prices().is_some(),
        }
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(async move {
            let kit = self.shared.prepare(&options).await?;
            let id = SessionId::from(uuid::Uuid::new_v4().to_string());
            let session = ModelSession::new(options, kit);
            self.shared.sessions.insert(id.clone(), session);
            Ok(id)
        })
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let known = self.shared.sessions.get(self.name(), id)?;
            let kit = self.shared.prepare(&options).await?;
            let session = known.with_options(options, kit);
            self.shared.sessions.insert(id.clone(), session);
            Ok(())
        })
    }

    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        Box::pin(async move {
            let session = self.shared.sessions.get(self.name(), id)?;
            Ok(ModelTurn::start(Arc::clone(&self.shared), session, prompt))
        })
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.shared.sessions.get(self.name(), id)?.stop();
            Ok(())
        })
    }
}

impl fmt::Debug for ModelAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelAgent")
            .field("kind", &self.shared.kind)
            .field("settings", &self.shared.settings)
            .field("line", &self.shared.line)
            .finish_non_exhaustive()
    }
}

/// Makes agents of this kind from their configuration.
pub fn factory(
    kind: ModelKind,
    context: AgentContext,
    toolbox: Arc<dyn Toolbox>,
) -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
    move |config| {
        let settings = ModelSettings::from_value(config)?;
        let agent = ModelAgent::new(kind, settings, context.clone(), Arc::clone(&toolbox))?;
        Ok(agent.handle())
    }
}
