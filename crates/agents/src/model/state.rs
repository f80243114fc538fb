//! The state that all turns of one agent share.

use std::sync::{Arc, OnceLock};

use windlass_core::{
    Clock, Error, ErrorCode, PermissionPolicy, PermissionRule, Result, SessionOptions, Toolbox,
    WorkLabel,
};
use windlass_mcp::McpServers;

use super::client::ModelClient;
use super::counted::CallCounter;
use super::detect_window::DetectedWindows;
use super::family::ModelFit;
use super::mcp;
use super::session::ModelSessions;
use super::tool_set::ToolSet;
use super::{ModelKind, ModelSettings};
use crate::AgentContext;
use crate::bridge::{BridgeMode, ModelRoute};

/// One configured model: its settings, its client and its sessions.
pub(super) struct ModelState {
    pub(super) kind: ModelKind,
    pub(super) settings: ModelSettings,
    pub(super) client: Arc<ModelClient>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) context: AgentContext,
    pub(super) toolbox: Arc<dyn Toolbox>,
    pub(super) sessions: ModelSessions,
    pub(super) windows: Arc<DetectedWindows>,
    /// The name of the account that the calls use, once it is known.
    pub(super) account: Arc<OnceLock<String>>,
    /// The environment variable of the key, if it is not set.
    pub(super) missing_key: Option<String>,
}

impl ModelState {
    /// Returns the same model without sessions.
    pub(super) fn scoped(&self) -> Self {
        Self {
            kind: self.kind,
            settings: self.settings.clone(),
            client: Arc::clone(&self.client),
            clock: Arc::clone(&self.clock),
            context: self.context.clone(),
            toolbox: Arc::clone(&self.toolbox),
            sessions: ModelSessions::default(),
            windows: Arc::clone(&self.windows),
            account: Arc::clone(&self.account),
            missing_key: self.missing_key.clone(),
        }
    }

    /// Returns the client of a session, which counts its calls for the session's work.
    pub(super) fn client_for(&self, work: &WorkLabel) -> Arc<ModelClient> {
        let bridge = self.context.bridge();
        let bridge = bridge.filter(|_| self.settings.bridge != BridgeMode::Off);
        let Some(bridge) = bridge else {
            return Arc::clone(&self.client);
        };
        let endpoint = self.settings.endpoint.as_deref();
        let agent = self.settings.name.as_deref();
        let counter = CallCounter {
            bridge: Arc::clone(bridge),
            route: ModelRoute {
                agent: agent.unwrap_or(self.kind.name()).to_owned(),
                upstream: endpoint.unwrap_or(self.kind.endpoint()).to_owned(),
                keys: self.client.secret().into_iter().cloned().collect(),
                max_calls: self.settings.max_calls,
                work: WorkLabel {
                    person: work.person.clone().or_else(|| self.context.user()),
                    ..work.clone()
                },
                account: Arc::clone(&self.account),
                ..ModelRoute::default()
            },
        };
        // Only what passes through an address of the bridge can be recorded. The address counts, too.
        if bridge.records() {
            let access = bridge.open(counter.route.clone());
            if let Some(client) = access.ok().and_then(|access| self.client.through(access)) {
                return Arc::new(client);
            }
        }
        Arc::new(self.client.counted(counter))
    }

    /// Returns the name of the model that a session uses.
    pub(super) fn model<'a>(&'a self, options: &'a SessionOptions) -> &'a str {
        let configured = options.model.as_deref().or(self.settings.model.as_deref());
        configured.or(self.kind.default_model()).unwrap_or_default()
    }

    /// Returns the settings in effect for this model, else for the configured one.
    pub(super) fn fit(&self, model: Option<&str>) -> ModelFit {
        let configured = model.or(self.settings.model.as_deref());
        let model = configured.or(self.kind.default_model()).unwrap_or_default();
        ModelFit::new(&self.settings, self.kind, model)
    }

    /// Returns the context window of this model: as configured, else as the server tells, else that of the family.
    pub(super) async fn window(&self, model: &str) -> Option<u64> {
        let configured = self.settings.context_window;
        // The providers themselves do not report the window, and it is large.
        if configured.is_some()
            || self.settings.endpoint.is_none() && self.kind != ModelKind::Ollama
        {
            return configured;
        }
        let told = self.windows.get(self.kind, &self.client, model).await;
        told.or(self.fit(Some(model)).context_window)
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
    pub(super) async fn prepare(&self, options: &SessionOptions) -> Result<ToolSet> {
        self.require_key()?;
        if options.output_schema.is_some() && !self.fit(options.model.as_deref()).enforces_schema {
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
        if options.without_tools {
            return Ok(tools);
        }
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
