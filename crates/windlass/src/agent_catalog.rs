//! Agents by name: found in the configuration, made by the registry, kept for the next who asks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use windlass_agents::composite::{Composite, CompositeKind, CompositeProfile, FallbackCause, Node};
use windlass_core::registry::parse_config;
use windlass_core::task::{Task, WorkerKind};
use windlass_core::{AgentHandle, AgentRegistry, Error, Result, TurnLimits};
use windlass_runner::AgentResolver;

use crate::config::{self, AgentConfig, Config};

/// How many agents are kept. A client can ask for any agent with any model, and so for any number of names.
const MAX_CACHED: usize = 256;

/// The agents that this program can reach.
#[derive(Debug, Clone)]
pub(crate) struct AgentCatalog {
    registry: Arc<AgentRegistry>,
    config: Config,
    /// Who works where nobody is named, in place of the configured one.
    default: Option<String>,
    /// By the names they were asked for. An agent whose process waits for the next turn is worth keeping, and so is a
    /// composite that knows which of its nodes rests.
    open: Arc<Mutex<BTreeMap<String, AgentHandle>>>,
}

/// What the configuration says about a composite.
#[derive(Deserialize)]
struct CompositeTable {
    kind: CompositeKind,
    nodes: Vec<String>,
    on: Option<Vec<FallbackCause>>,
    cool_down_secs: Option<u64>,
}

impl AgentCatalog {
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
            let configured = self.config.agents().into_iter();
            let configured = configured.chain(self.config.composites());
            let configured = configured.map(|agent| agent.name);
            let mut names: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
            names.extend(configured);
            names.sort();
            names.dedup();
            return Err(Error::InvalidInput(format!(
                "no agent is chosen: pass --agent NAME or set default_agent (there are: {})",
                names.join(", ")
            )));
        };
        self.config
            .resolve_agent(name, &known)
            .map_err(invalid_input)
    }

    /// The backends there are, by name.
    pub(crate) fn backends(&self) -> Vec<&str> {
        self.registry.available()
    }

    /// The agent itself, under the limits that the configuration sets.
    pub(crate) fn open(&self, agent: &AgentConfig) -> Result<AgentHandle> {
        self.open_nested(agent, &[])
    }

    /// The same for a node of these composites, the outermost first.
    fn open_nested(&self, agent: &AgentConfig, inside: &[&str]) -> Result<AgentHandle> {
        if let Some(name) = agent.composite_name() {
            let handle = self
                .open_composite(agent, inside)
                .map_err(|error| match error {
                    Error::Config { key, problem } if !key.contains('.') => {
                        Error::config(format!("composites.{name}.{key}"), problem)
                    }
                    other => other,
                })?;
            let usual = handle.limits();
            return Ok(handle.with_limits(TurnLimits {
                deadline: agent.timeout().unwrap_or(usual.deadline),
                ..usual
            }));
        }
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

    /// Makes one agent of several, each of which is kept under its own name.
    fn open_composite(&self, agent: &AgentConfig, inside: &[&str]) -> Result<AgentHandle> {
        let made: CompositeTable = parse_config(&agent.table).map_err(|error| match error {
            // A whole key that is missing is named in the message.
            Error::Config { key, problem } if key == "." => match problem.contains("`kind`") {
                true => Error::config("kind", "is not set: say how the nodes work together"),
                false => Error::config("nodes", "is not set: name the agents that it is made of"),
            },
            other => other,
        })?;
        let inside: Vec<&str> = inside
            .iter()
            .copied()
            .chain([agent.name.as_str()])
            .collect();
        let mut nodes = Vec::with_capacity(made.nodes.len());
        for name in &made.nodes {
            let found = self.find(Some(name));
            let found = found.map_err(|error| Error::config("nodes", error.to_string()))?;
            if inside.contains(&found.name.as_str()) {
                let way: Vec<&str> = inside
                    .iter()
                    .copied()
                    .chain([found.name.as_str()])
                    .collect();
                let problem = format!("it is made of itself: {}", way.join(" → "));
                return Err(Error::config("nodes", problem));
            }
            nodes.push(Node::new(name, self.get_or_open(name, &found, &inside)?));
        }
        let usual = CompositeProfile::new(made.kind);
        let profile = CompositeProfile {
            on: made.on.unwrap_or(usual.on),
            cool_down: made
                .cool_down_secs
                .map_or(usual.cool_down, Duration::from_secs),
            ..usual
        };
        Ok(Composite::new(profile, nodes)?.handle())
    }

    /// The agent that is kept under this name, or a new one that is from now on.
    fn get_or_open(&self, name: &str, agent: &AgentConfig, inside: &[&str]) -> Result<AgentHandle> {
        let name = self.cache_key(name, agent);
        if let Some(handle) = self.cache().get(name) {
            return Ok(handle.clone());
        }
        let handle = self.open_nested(agent, inside)?;
        if self.cache().len() < MAX_CACHED {
            self.insert(name, handle.clone());
        }
        Ok(handle)
    }

    /// The name to keep an agent under: its own, unless it was asked for with something that it has not by itself.
    fn cache_key<'a>(&self, name: &'a str, agent: &'a AgentConfig) -> &'a str {
        let plain = self
            .config
            .resolve_agent(&agent.name, &self.registry.available());
        match plain {
            Ok(plain) if plain == *agent => &agent.name,
            _ => name,
        }
    }

    /// Lets this agent answer to a name, whatever the configuration says about it.
    pub(crate) fn insert(&self, name: &str, handle: AgentHandle) {
        self.cache().insert(name.to_owned(), handle);
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, AgentHandle>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AgentResolver for AgentCatalog {
    fn resolve(&self, name: Option<&str>, _kind: WorkerKind) -> Result<AgentHandle> {
        if let Some(handle) = name.and_then(|name| self.cache().get(name).cloned()) {
            return Ok(handle);
        }
        let agent = self.find(name)?;
        let default = self.default.as_deref().or(self.config.default_agent());
        let name = name.or(default).unwrap_or(&agent.name);
        self.get_or_open(name, &agent, &[])
    }

    fn name_for(&self, task: &Task, agent: &AgentHandle) -> String {
        let default = self.default.as_deref().or(self.config.default_agent());
        let name = task.agent.as_deref().or(default).unwrap_or(agent.name());
        name.to_owned()
    }
}

fn invalid_input(error: config::Error) -> Error {
    Error::InvalidInput(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_that_can_be_configured_is_one() {
        let key = "composites.<name>.on";
        let row = config::KEYS.iter().find(|known| known.path == key);
        let Some(config::ValueKind::Choices(words)) = row.map(|known| known.kind) else {
            panic!("{key} takes no words");
        };
        let causes: Vec<FallbackCause> = words
            .iter()
            .map(|word| serde_json::from_value((*word).into()).unwrap())
            .collect();
        for usual in FallbackCause::DEFAULT {
            assert!(causes.contains(&usual), "{usual:?}");
        }
    }
}
