//! What every command has at hand.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_agents::AgentContext;
use windlass_core::{AgentHandle, AgentRegistry};

use super::console::Console;
use super::exit::CliError;
use crate::agent_catalog::AgentCatalog;
use crate::config::{AgentConfig, Config, Inputs};
use crate::registry;

/// The registry, where the configuration comes from, and the console.
pub(super) struct App<'a> {
    pub(super) registry: Arc<AgentRegistry>,
    /// What agents that are programs need, or why there can be none.
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

    /// Looks at the machine, for the commands that reach agents: it costs a few milliseconds.
    pub(super) async fn with_local_agents(mut self) -> Self {
        self.machine = registry::agent_context(&self.inputs).await;
        // Nobody else holds it before the command runs.
        let registry = Arc::into_inner(self.registry).unwrap_or_default();
        self.registry = Arc::new(registry::with_local_agents(registry, &self.machine));
        self
    }

    /// The configuration; what a person should know about it is said on the way.
    pub(super) fn config(&self) -> Result<Config, CliError> {
        let config = Config::load(&self.inputs)?;
        for notice in config.notices() {
            self.console.notice(&notice.to_string());
        }
        Ok(config)
    }

    /// The agents of this program, as this configuration knows them.
    pub(super) fn catalog(&self, config: &Config) -> AgentCatalog {
        AgentCatalog::new(Arc::clone(&self.registry), config.clone())
    }

    /// The agent that is named, or else the default one.
    pub(super) fn find_agent(
        &self,
        config: &Config,
        name: Option<&str>,
    ) -> Result<AgentConfig, CliError> {
        Ok(self.catalog(config).find(name)?)
    }

    /// The agent itself, under the limits that the configuration sets.
    pub(super) fn open_agent(
        &self,
        config: &Config,
        agent: &AgentConfig,
    ) -> Result<AgentHandle, CliError> {
        Ok(self.catalog(config).open(agent)?)
    }
}
