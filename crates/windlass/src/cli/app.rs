//! The context that every command receives.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_agents::AgentContext;
use windlass_core::{AgentHandle, AgentRegistry};

use super::console::Console;
use super::exit::CliError;
use super::masking;
use crate::agent_catalog::AgentCatalog;
use crate::config::{AgentConfig, Config, Inputs};
use crate::registry;

/// The registry, the configuration inputs and the console.
pub(super) struct App<'a> {
    pub(super) registry: Arc<AgentRegistry>,
    /// What agent programs need, or the reason why none can be started.
    pub(super) machine: Result<AgentContext, String>,
    pub(super) inputs: Inputs,
    pub(super) console: &'a Console,
}

impl<'a> App<'a> {
    pub(super) fn new(
        config: Option<PathBuf>,
        registry: AgentRegistry,
        console: &'a Console,
    ) -> Result<Self, CliError> {
        let mut inputs = Inputs::from_process().map_err(|error| {
            CliError::usage(format!(
                "the working directory cannot be read: {error}; change to one that exists"
            ))
        })?;
        inputs.file = config;
        Ok(Self {
            registry: Arc::new(registry),
            machine: Err("this command starts no program".to_owned()),
            inputs,
            console,
        })
    }

    /// Detects the sandbox and adds the agents of this machine. Only for commands that need agents: it takes a few
    /// milliseconds.
    pub(super) async fn with_local_agents(mut self) -> Self {
        self.machine = registry::agent_context(&self.inputs).await;
        // Before the command runs this is the only reference.
        let registry = Arc::into_inner(self.registry).unwrap_or_default();
        self.registry = Arc::new(registry::with_local_agents(registry, &self.machine));
        self
    }

    /// Loads the configuration and prints its notices.
    pub(super) fn config(&self) -> Result<Config, CliError> {
        let config = Config::load(&self.inputs)?;
        // From now on the log masks the secrets too.
        masking::masker(&self.inputs, &config);
        for notice in config.notices() {
            self.console.notice(&notice.to_string());
        }
        Ok(config)
    }

    /// Returns the catalog of agents for this configuration.
    pub(super) fn catalog(&self, config: &Config) -> AgentCatalog {
        AgentCatalog::new(Arc::clone(&self.registry), config.clone())
            .with_masker(masking::masker(&self.inputs, config))
    }

    /// Returns the configuration of the named agent, or of the default agent.
    pub(super) fn find_agent(
        &self,
        config: &Config,
        name: Option<&str>,
    ) -> Result<AgentConfig, CliError> {
        Ok(self.catalog(config).find(name)?)
    }

    /// Creates the agent with the limits that the configuration sets.
    pub(super) fn open_agent(
        &self,
        config: &Config,
        agent: &AgentConfig,
    ) -> Result<AgentHandle, CliError> {
        Ok(self.catalog(config).open(agent)?)
    }
}
