//! Agents by name: found in the configuration, made by the registry, kept for the next who asks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use windlass_core::task::WorkerKind;
use windlass_core::{AgentHandle, AgentRegistry, Error, Result, TurnLimits};
use windlass_runner::Agents;

use crate::config::{self, AgentConfig, Config};

/// The agents that this program can reach.
#[derive(Debug, Clone)]
pub(crate) struct Roster {
    registry: Arc<AgentRegistry>,
    config: Config,
    /// Who works where nobody is named, in place of the configured one.
    default: Option<String>,
    /// An agent whose process waits for the next turn is worth keeping.
    open: Arc<Mutex<BTreeMap<String, AgentHandle>>>,
}

impl Roster {
    pub(crate) fn new(registry: Arc<AgentRegistry>, config: Config) -> Self {
        Self {
            registry,
            config,
            default: None,
            open: Arc::default(),
        }
    }

    /// The same agents, with another one to work where nobody is named.
    pub(crate) fn with_default(mut self, name: Option<String>) -> Self {
        self.default = name;
        self
    }

    /// The agent that is named, or else the default one, as it is configured.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<AgentConfig> {
        let known = self.registry.available();
        let default = self.default.as_deref().or(self.config.default_agent());
        let Some(name) = name.or(default) else {
            let configured = self.config.agents().into_iter().map(|agent| agent.name);
            let mut names: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
            names.extend(configured);
            names.sort();
            names.dedup();
            return Err(Error::InvalidInput(format!(
                "no agent is chosen: pass --agent NAME or set default_agent (there are: {})",
                names.join(", ")
            )));
        };
        self.config.resolve_agent(name, &known).map_err(refused)
    }

    /// The agent itself, under the limits that the configuration sets.
    pub(crate) fn open(&self, agent: &AgentConfig) -> Result<AgentHandle> {
        let made = self.registry.create(&agent.backend, &agent.table);
        let handle = made.map_err(|error| match error {
            Error::Config { key, problem } => {
                Error::config(format!("agents.{}.{key}", agent.name), problem)
            }
            other => other,
        })?;
        let usual = handle.limits();
        Ok(handle.with_limits(TurnLimits {
            deadline: agent
                .timeout()
                .or(self.config.turn_deadline())
                .unwrap_or(usual.deadline),
            stall: self.config.stall().or(usual.stall),
            ..usual
        }))
    }

    /// Lets this agent answer to a name, whatever the configuration says about it.
    pub(crate) fn seat(&self, name: &str, handle: AgentHandle) {
        self.kept().insert(name.to_owned(), handle);
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, AgentHandle>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Agents for Roster {
    fn agent(&self, name: Option<&str>, _kind: WorkerKind) -> Result<AgentHandle> {
        if let Some(handle) = name.and_then(|name| self.kept().get(name).cloned()) {
            return Ok(handle);
        }
        let agent = self.find(name)?;
        if let Some(handle) = self.kept().get(&agent.name) {
            return Ok(handle.clone());
        }
        let handle = self.open(&agent)?;
        self.seat(&agent.name, handle.clone());
        Ok(handle)
    }
}

fn refused(error: config::Error) -> Error {
    Error::InvalidInput(error.to_string())
}
