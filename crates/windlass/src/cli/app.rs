//! The context that every command receives.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Once, OnceLock};
use std::time::Duration;

use windlass_agents::AgentContext;
use windlass_bridge::Bridge;
use windlass_core::{AgentHandle, AgentRegistry};

use super::console::Console;
use super::exit::CliError;
use super::masking;
use crate::agent_catalog::AgentCatalog;
use crate::config::{self, AgentConfig, Config, Flag, Inputs};
use crate::telemetry::Telemetry;
use crate::{model_bridge, registry};

/// Why a command without agents can start none.
const NO_PROGRAMS: &str = "this command starts no program";

/// The registry, the configuration and the console.
pub(super) struct App<'a> {
    pub(super) registry: Arc<AgentRegistry>,
    /// What agent programs need, or the reason why none can be started.
    pub(super) machine: Result<AgentContext, String>,
    /// The bridge through which agents call their models, for a command with agents.
    pub(super) bridge: Option<Arc<Bridge>>,
    pub(super) inputs: Inputs,
    /// The configuration, or the reason why it cannot be read.
    pub(super) config: config::Result<Arc<Config>>,
    pub(super) console: &'a Console,
    /// Done once the notices of the configuration are printed.
    pub(super) notices: Arc<Once>,
    /// Where traces are sent to, once the store was opened.
    pub(super) telemetry: Arc<OnceLock<Option<Arc<Telemetry>>>>,
}

impl<'a> App<'a> {
    pub(super) fn new(
        config: Option<PathBuf>,
        flags: impl FnOnce(&Path) -> Vec<Flag>,
        registry: AgentRegistry,
        console: &'a Console,
    ) -> Result<Self, CliError> {
        let mut inputs = Inputs::from_process().map_err(|error| {
            CliError::usage(format!(
                "the working directory cannot be read: {error}; change to one that exists"
            ))
        })?;
        inputs.file = config;
        inputs.flags = flags(&inputs.cwd);
        Ok(Self {
            registry: Arc::new(registry),
            machine: Err(NO_PROGRAMS.to_owned()),
            bridge: None,
            config: Config::load(&inputs).map(Arc::new),
            inputs,
            console,
            notices: Arc::new(Once::new()),
            telemetry: Arc::default(),
        })
    }

    /// Returns the program as it is in another directory: with the configuration of that directory and the agents of
    /// this machine. Only for an app without local agents.
    pub(super) async fn in_dir<'b>(&self, cwd: &Path, console: &'b Console) -> App<'b> {
        let mut inputs = self.inputs.clone();
        inputs.cwd = cwd.to_owned();
        let app = App {
            registry: Arc::new(AgentRegistry::clone(&self.registry)),
            machine: Err(NO_PROGRAMS.to_owned()),
            bridge: None,
            config: Config::load(&inputs).map(Arc::new),
            inputs,
            console,
            notices: Arc::new(Once::new()),
            telemetry: Arc::clone(&self.telemetry),
        };
        app.with_local_agents().await
    }

    /// Reads the configuration again.
    pub(super) fn reload(&mut self) {
        self.config = Config::load(&self.inputs).map(Arc::new);
    }

    /// Detects the sandbox and adds the agents of this machine. Only for commands that need agents: it takes a few
    /// milliseconds.
    pub(super) async fn with_local_agents(self) -> Self {
        self.with_agents(None).await
    }

    /// Like [`with_local_agents`](Self::with_local_agents), with processes of agents that wait this long for the next
    /// prompt.
    pub(super) async fn with_warm_agents(self, idle: Duration) -> Self {
        self.with_agents(Some(idle)).await
    }

    async fn with_agents(mut self, idle: Option<Duration>) -> Self {
        self.machine = match &self.config {
            Ok(config) => registry::agent_context(config, &self.inputs).await,
            Err(error) => Err(error.to_string()),
        };
        if let Ok(config) = &self.config {
            let masker = masking::masker(&self.inputs, config);
            let bridge = Arc::new(model_bridge::create(config, masker));
            self.bridge = Some(Arc::clone(&bridge));
            self.machine = self.machine.map(|machine| machine.with_bridge(bridge));
        }
        if let Some(idle) = idle {
            self.machine = self.machine.map(|machine| machine.with_idle_timeout(idle));
        }
        // Before the command runs this is the only reference.
        let registry = Arc::into_inner(self.registry).unwrap_or_default();
        self.registry = Arc::new(registry::with_local_agents(registry, &self.machine));
        self
    }

    /// Returns the configuration. The first call prints its notices.
    pub(super) fn config(&self) -> Result<&Arc<Config>, CliError> {
        let config = self.config.as_ref().map_err(Clone::clone)?;
        self.notices.call_once(|| {
            // From now on the log masks the secrets too.
            masking::masker(&self.inputs, config);
            for notice in config.notices() {
                self.console.notice(&notice.to_string());
            }
        });
        Ok(config)
    }

    /// Returns where traces are sent to, if that is configured.
    pub(super) fn telemetry(&self, config: &Config) -> Result<Option<Arc<Telemetry>>, CliError> {
        if let Some(telemetry) = self.telemetry.get() {
            return Ok(telemetry.clone());
        }
        let telemetry = Telemetry::new(config, &self.inputs).map_err(CliError::usage)?;
        let telemetry = telemetry.map(Arc::new);
        Ok(self.telemetry.get_or_init(|| telemetry).clone())
    }

    /// Returns the catalog of agents.
    pub(super) fn catalog(&self) -> Result<AgentCatalog, CliError> {
        let config = Arc::clone(self.config()?);
        let masker = masking::masker(&self.inputs, &config);
        Ok(AgentCatalog::new(Arc::clone(&self.registry), config).with_masker(masker))
    }

    /// Returns the configuration of the named agent, or of the default agent.
    pub(super) fn find_agent(&self, name: Option<&str>) -> Result<AgentConfig, CliError> {
        Ok(self.catalog()?.find(name)?)
    }

    /// Creates the agent with the limits that the configuration sets.
    pub(super) fn open_agent(&self, agent: &AgentConfig) -> Result<AgentHandle, CliError> {
        Ok(self.catalog()?.open(agent)?)
    }
}
