//! Agents by name: configured in the configuration, created by the registry, and cached.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Deserialize;
use windlass_agents::composite::{Composite, CompositeKind, CompositeProfile, FallbackCause, Node};
use windlass_core::registry::parse_config;
use windlass_core::task::{Task, WorkerKind};
use windlass_core::{AgentHandle, AgentRegistry, Error, Masker, Result, TurnLimits};
use windlass_runner::AgentResolver;

use crate::config::{self, AgentConfig, Config};

/// Maximum number of cached agents. A client can request any agent with any model, and so any number of names.
const MAX_CACHED: usize = 256;

/// The agents that this program can use.
#[derive(Debug, Clone)]
pub(crate) struct AgentCatalog {
    registry: Arc<AgentRegistry>,
    config: Config,
    /// Masks secrets in everything that an agent outputs.
    masker: Masker,
    /// The agent to use if none is named, instead of the configured default.
    default: Option<String>,
    /// Opened agents by the names under which they were requested. Caching keeps an agent's idle process for the next
    /// turn, and a composite's knowledge of which nodes are cooling down.
    open: Arc<Mutex<BTreeMap<String, AgentHandle>>>,
}

/// The configuration of a composite.
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
            masker: Masker::default(),
            default: None,
            open: Arc::default(),
        }
    }

    /// Masks these secrets in everything that an agent outputs.
    pub(crate) fn with_masker(mut self, masker: Masker) -> Self {
        self.masker = masker;
        self
    }

    /// Sets the agent to use if none is named, instead of the configured default.
    pub(crate) fn with_default(mut self, name: Option<String>) -> Self {
        self.default = name;
        self
    }

    /// Returns the configuration of the named agent, or of the default agent.
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
                "no agent selected: pass --agent NAME or set default_agent (known agents: {})",
                names.join(", ")
            )));
        };
        self.config
            .resolve_agent(name, &known)
            .map_err(invalid_input)
    }

    /// Returns the names of all backends.
    pub(crate) fn backends(&self) -> Vec<&str> {
        self.registry.available()
    }

    /// Creates the agent with the limits that the configuration sets.
    pub(crate) fn open(&self, agent: &AgentConfig) -> Result<AgentHandle> {
        self.open_nested(agent, &[])
    }

    /// Like [`open`](Self::open), for a node inside these composites, outermost first.
    fn open_nested(&self, agent: &AgentConfig, inside: &[&str]) -> Result<AgentHandle> {
        let handle = self.create(agent, inside)?;
        Ok(handle.with_masker(self.masker.clone()))
    }

    fn create(&self, agent: &AgentConfig, inside: &[&str]) -> Result<AgentHandle> {
        if let Some(name) = agent.composite_name() {
            let handle = self
                .open_composite(agent, inside)
                .map_err(|error| match error {
                    Error::Config { key, problem } if !key.contains('.') => {
                        Error::config(format!("composites.{name}.{key}"), problem)
                    }
                    other => other,
                })?;
            let defaults = handle.limits();
            return Ok(handle.with_limits(TurnLimits {
                deadline: agent.timeout().unwrap_or(defaults.deadline),
                ..defaults
            }));
        }
        let created = self.registry.create(&agent.backend, &agent.table);
        let handle = created.map_err(|error| match error {
            Error::Config { key, problem } => {
                Error::config(format!("agents.{}.{key}", agent.name), problem)
            }
            other => other,
        })?;
        let defaults = handle.limits();
        Ok(handle.with_limits(TurnLimits {
            deadline: agent
                .timeout()
                .or(self.config.turn_deadline())
                .unwrap_or(defaults.deadline),
            stall: self.config.stall().or(defaults.stall),
            ..defaults
        }))
    }

    /// Creates a composite. Each of its nodes is cached under its own name.
    fn open_composite(&self, agent: &AgentConfig, inside: &[&str]) -> Result<AgentHandle> {
        let table: CompositeTable = parse_config(&agent.table).map_err(|error| match error {
            // A missing key is named only in the message.
            Error::Config { key, problem } if key == "." => {
                if problem.contains("`kind`") {
                    Error::config("kind", "is not set: set how the nodes work together")
                } else {
                    Error::config("nodes", "is not set: list the agents that it consists of")
                }
            }
            other => other,
        })?;
        let inside: Vec<&str> = inside
            .iter()
            .copied()
            .chain([agent.name.as_str()])
            .collect();
        let mut nodes = Vec::with_capacity(table.nodes.len());
        for name in &table.nodes {
            let found = self.find(Some(name));
            let found = found.map_err(|error| Error::config("nodes", error.to_string()))?;
            if inside.contains(&found.name.as_str()) {
                let path: Vec<&str> = inside
                    .iter()
                    .copied()
                    .chain([found.name.as_str()])
                    .collect();
                let problem = format!("it contains itself: {}", path.join(" → "));
                return Err(Error::config("nodes", problem));
            }
            nodes.push(Node::new(name, self.get_or_open(name, &found, &inside)?));
        }
        let defaults = CompositeProfile::new(table.kind);
        let profile = CompositeProfile {
            on: table.on.unwrap_or(defaults.on),
            cool_down: table
                .cool_down_secs
                .map_or(defaults.cool_down, Duration::from_secs),
            ..defaults
        };
        Ok(Composite::new(profile, nodes)?.handle())
    }

    /// Returns the cached agent of this name, or creates and caches it.
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

    /// Returns the cache key of an agent: its own name, or the requested name if that adds a setting, such as a
    /// model.
    fn cache_key<'a>(&self, name: &'a str, agent: &'a AgentConfig) -> &'a str {
        let plain = self
            .config
            .resolve_agent(&agent.name, &self.registry.available());
        match plain {
            Ok(plain) if plain == *agent => &agent.name,
            _ => name,
        }
    }

    /// Caches this agent under a name, which then overrides the configuration.
    pub(crate) fn insert(&self, name: &str, handle: AgentHandle) {
        self.cache().insert(name.to_owned(), handle);
    }

    fn cache(&self) -> parking_lot::MutexGuard<'_, BTreeMap<String, AgentHandle>> {
        self.open.lock()
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
    fn configurable_fallback_causes_include_the_defaults() {
        let key = "composites.<name>.on";
        let row = config::KEYS.iter().find(|known| known.path == key);
        let Some(config::ValueKind::Choices(choices)) = row.map(|known| known.kind) else {
            panic!("{key} has no choices");
        };
        let causes: Vec<FallbackCause> = choices
            .iter()
            .map(|choice| serde_json::from_value((*choice).into()).unwrap())
            .collect();
        for cause in FallbackCause::DEFAULT {
            assert!(causes.contains(&cause), "{cause:?}");
        }
    }
}
