//! A model behind HTTP as an [`AgentBackend`].

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use windlass_core::{
    AgentBackend, AgentHandle, Capabilities, Clock, EditMode, Error, EventStream, PermissionPolicy,
    Prompt, Result, SessionId, SessionOptions, SystemClock, Toolbox, TurnLimits,
};

use super::client::ModelClient;
use super::completion::with_completion_model;
use super::detect_window::DetectedWindows;
use super::session::{ModelSession, ModelSessions};
use super::state::ModelState;
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
        let client = Arc::new(ModelClient::new(
            client,
            kind.dialect(settings.api()),
            settings.stream,
        ));
        Ok(Self {
            shared: Arc::new(ModelState {
                kind,
                settings,
                client,
                clock,
                context,
                toolbox,
                sessions: ModelSessions::default(),
                windows: Arc::new(DetectedWindows::default()),
                account: Arc::default(),
                missing_key,
            }),
        })
    }

    /// Fails if the key is required and not set.
    pub(super) fn require_key(&self) -> Result<()> {
        self.shared.require_key()
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
            native_schema: self.shared.fit(None).enforces_schema,
            mcp: true,
            model_choice: true,
            usage: true,
            cost: settings.prices().is_some(),
        }
    }

    /// Whole files are written without a question for each, so only if the permissions allow every write.
    fn edit_mode(&self, model: Option<&str>) -> EditMode {
        let settings = &self.shared.settings;
        let is_limited = settings.permissions.as_ref().is_some_and(|permissions| {
            permissions.default != PermissionPolicy::Allow || !permissions.rules.is_empty()
        });
        if settings.tools && is_limited {
            return EditMode::Tools;
        }
        self.shared.fit(model).edit_mode
    }

    fn context_window<'a>(&'a self, model: Option<&'a str>) -> BoxFuture<'a, Option<u64>> {
        let shared = &self.shared;
        let configured = model.or(shared.settings.model.as_deref());
        let model = configured.or(shared.kind.default_model());
        Box::pin(shared.window(model.unwrap_or_default()))
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

    fn scoped(&self) -> Option<Arc<dyn AgentBackend>> {
        let shared = Arc::new(self.shared.scoped());
        Some(Arc::new(Self { shared }))
    }

    /// Forgets the conversations, which ends their MCP servers.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { self.shared.sessions.clear() })
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
