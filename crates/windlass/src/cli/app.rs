//! What every command has at hand.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_agents::AgentContext;
use windlass_core::{AgentHandle, AgentRegistry};

use super::console::Console;
use super::exit::Failure;
use crate::config::{AgentConfig, Config, Inputs};
use crate::registry;
use crate::roster::Roster;

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
    ) -> Result<Self, Failure> {
        let mut inputs = Inputs::of_process().map_err(|error| {
            Failure::usage(format!(
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
    pub(super) async fn with_programs(mut self) -> Self {
        self.machine = registry::machine(&self.inputs).await;
        // Nobody else holds it before the command runs.
        let registry = Arc::into_inner(self.registry).unwrap_or_default();
        self.registry = Arc::new(registry::with_programs(registry, &self.machine));
        self
    }

    /// The configuration; what a person should know about it is said on the way.
    pub(super) fn config(&self) -> Result<Config, Failure> {
        let config = Config::load(&self.inputs)?;
        for notice in config.notices() {
            self.console.notice(&notice.to_string());
        }
        Ok(config)
    }

    /// The agents of this program, as this configuration knows them.
    pub(super) fn roster(&self, config: &Config) -> Roster {
        Roster::new(Arc::clone(&self.registry), config.clone())
    }

    /// The agent that is named, or else the default one.
    pub(super) fn choose(
        &self,
        config: &Config,
        name: Option<&str>,
    ) -> Result<AgentConfig, Failure> {
        Ok(self.roster(config).find(name)?)
    }

    /// The agent itself, under the limits that the configuration sets.
    pub(super) fn open(
        &self,
        config: &Config,
        agent: &AgentConfig,
    ) -> Result<AgentHandle, Failure> {
        Ok(self.roster(config).open(agent)?)
    }
}
