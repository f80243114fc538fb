//! A model behind HTTP as an [`AgentBackend`].

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
/// A turn is a loop: the model answers, its tool calls are run in the session's directory, and it receives the results,
/// until an answer contains no call. Conversations are stored in memory for the lifetime of the agent.
#[derive(Clone)]
pub struct ModelAgent {
    pub(super) shared: Arc<ModelState>,
}

/// The state that all turns of one agent share.
pub(super) struct ModelState {
    pub(super) kind: ModelKind,
    pub(super) settings: ModelSettings,
    pub(super) client: Arc<ModelClient>,
    pub(super) clock: Arc<dyn Clock>,
    context: AgentContext,
    toolbox: Arc<dyn Toolbox>,
    sessions: ModelSessions,
    /// The environment variable of the key, if it is not set.
    missing_key: Option<String>,
}

impl ModelAgent {
    /// Creates an agent with these settings and the tools of this toolbox.
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

    /// Like [`new`](Self::new), with the given clock.
    pub fn with_clock(
        kind: ModelKind,
        settings: ModelSettings,
        context: AgentContext,
        toolbox: Arc<dyn Toolbox>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        if settings.model.is_none() && kind.default_model().is_none() {
            return Err(Error::config("model", "is not set: name the model to use"));
        }
        let endpoint = settings.endpoint.as_deref().unwrap_or(kind.endpoint());
        let address =
            BaseUrl::parse(endpoint).map_err(|problem| Error::config("endpoint", problem))?;
        // The default key is sent to the provider's own endpoint only. Another server gets the key that is configured
        // for it.
        let default = kind
            .default_key_var()
            .filter(|_| settings.endpoint.is_none());
        let variable = settings.api_key_env.as_deref().or(default);
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
        let client = Arc::new(ModelClient::new(client, kind.dialect(settings.api())));
        Ok(Self {
            shared: Arc::new(ModelState {
                kind,
                settings,
                client,
                clock,
                context,
                toolbox,
                sessions: ModelSessions::default(),
                missing_key,
            }),
        })
    }

    /// Wraps the agent in a handle, with the timeout of its settings.
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
    /// Returns the name of the model that a session uses.
    pub(super) fn model<'a>(&'a self, options: &'a SessionOptions) -> &'a str {
        let configured = options.model.as_deref().or(self.settings.model.as_deref());
        configured.or(self.kind.default_model()).unwrap_or_default()
    }

    /// Returns the permission policy of a session, and its rules.
    pub(super) fn effective_permissions<'a>(
        &'a self,
        options: &'a SessionOptions,
    ) -> (PermissionPolicy, &'a [PermissionRule]) {
        options.effective_permissions(self.settings.permissions.as_ref())
    }

    /// Fails if the key is required and not set.
    pub(super) fn require_key(&self) -> Result<()> {
        match &self.missing_key {
            Some(variable) => Err(Error::agent(
                ErrorCode::AuthFailed,
                format!(
                    "{} has no API key: set the environment variable {variable}",
                    self.kind
                ),
            )),
            None => Ok(()),
        }
    }

    /// Checks the options and returns the tools of the session, bound to its directory.
    async fn prepare(&self, options: &SessionOptions) -> Result<ToolSet> {
        self.require_key()?;
        if options.output_schema.is_some() && !self.settings.enforces_schema(self.kind) {
            return Err(Error::unsupported(
                self.kind.name(),
                "enforce a schema: put it into the prompt, or set schema_mode to native if the server does",
            ));
        }
        let cwd = match &options.cwd {
            Some(cwd) => cwd.clone(),
            None => self
                .context
                .working_dir()
                .map_err(|error| Error::InvalidInput(format!("no working directory: {error}")))?,
        };
        let access = options.effective_access(self.settings.permissions.as_ref());
        let mut tools = ToolSet::default();
        if self.settings.tools {
            tools.add(self.toolbox.tools(&cwd, access)?);
        }
        if !options.mcp_servers.is_empty() {
            let sandbox = self.context.sandbox();
            let servers = McpServers::connect(sandbox, &options.mcp_servers, &cwd, access).await;
            let servers = servers.map_err(|error| Error::agent(error.code(), error.to_string()))?;
            tools.add(mcp::tools(&Arc::new(servers)));
        }
        Ok(tools)
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
            let tools = self.shared.prepare(&options).await?;
            let id = SessionId::from(uuid::Uuid::new_v4().to_string());
            let session = ModelSession::new(options, tools);
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
            let tools = self.shared.prepare(&options).await?;
            let session = known.with_options(options, tools);
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
            .field("client", &self.shared.client)
            .finish_non_exhaustive()
    }
}

/// Returns a factory that creates agents of this kind from their configuration.
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
