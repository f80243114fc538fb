//! What every command has at hand.

use std::path::PathBuf;

use windlass_agents::AgentContext;
use windlass_core::{AgentHandle, AgentRegistry, TurnLimits};

use super::console::Console;
use super::exit::Failure;
use crate::config::{AgentConfig, Config, Inputs};
use crate::registry;

/// The registry, where the configuration comes from, and the console.
pub(super) struct App<'a> {
    pub(super) registry: AgentRegistry,
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
            registry,
            machine: Err("this command starts no program".to_owned()),
            inputs,
            console,
        })
    }

    /// Looks at the machine, for the commands that reach agents: it costs a few milliseconds.
    pub(super) async fn with_programs(mut self) -> Self {
        self.machine = registry::machine(&self.inputs).await;
        self.registry = registry::with_programs(self.registry, &self.machine);
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

    /// The agent that is named, or else the default one.
    pub(super) fn choose(
        &self,
        config: &Config,
        name: Option<&str>,
    ) -> Result<AgentConfig, Failure> {
        let known = self.registry.available();
        let Some(name) = name.or(config.default_agent()) else {
            let configured = config.agents().into_iter().map(|agent| agent.name);
            let mut names: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
            names.extend(configured);
            names.sort();
            names.dedup();
            return Err(Failure::usage(format!(
                "no agent is chosen: pass --agent NAME or set default_agent (there are: {})",
                names.join(", ")
            )));
        };
        Ok(config.resolve_agent(name, &known)?)
    }

    /// The agent itself, under the limits that the configuration sets.
    pub(super) fn open(
        &self,
        config: &Config,
        agent: &AgentConfig,
    ) -> Result<AgentHandle, Failure> {
        let handle =
            self.registry
                .create(&agent.backend, &agent.table)
                .map_err(|error| match error {
                    windlass_core::Error::Config { key, problem } => windlass_core::Error::config(
                        format!("agents.{}.{key}", agent.name),
                        problem,
                    ),
                    other => other,
                })?;
        let usual = handle.limits();
        Ok(handle.with_limits(TurnLimits {
            deadline: agent
                .timeout()
                .or(config.turn_deadline())
                .unwrap_or(usual.deadline),
            stall: config.stall().or(usual.stall),
            ..usual
        }))
    }
}
