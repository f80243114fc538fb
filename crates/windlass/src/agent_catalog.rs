//! Agents by name: configured in the configuration, created by the registry, and cached.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use windlass_agents::composite::{Composite, CompositeProfile, Node};
use windlass_core::{AgentHandle, AgentRegistry, Error, Masker, Result, TurnLimits};
use windlass_runner::AgentResolver;
use windlass_tasks::{Task, WorkerKind};

use crate::config::{self, AgentConfig, CompositeSettings, Config};
use crate::registry;

/// Maximum number of cached agents. A client can request any agent with any model, and so any number of names.
pub(crate) const MAX_CACHED: usize = 256;

/// The agents that this program can use.
#[derive(Debug, Clone)]
pub(crate) struct AgentCatalog {
    registry: Arc<AgentRegistry>,
    config: Arc<Config>,
    /// Masks secrets in everything that an agent outputs.
    masker: Masker,
    /// The agent to use if none is named, instead of the configured default.
    default: Option<String>,
    /// Tasks that name no agent get the one for their kind, if it is configured.
    routes: bool,
    /// Opened agents by the names under which they were requested. Caching keeps an agent's idle process for the next
    /// turn, and a composite's knowledge of which nodes are cooling down.
    open: Arc<Mutex<BTreeMap<String, AgentHandle>>>,
}

impl AgentCatalog {
    pub(crate) fn new(registry: Arc<AgentRegistry>, config: Arc<Config>) -> Self {
        Self {
            registry,
            config,
            masker: Masker::default(),
            default: None,
            routes: true,
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

    /// Uses the default for every kind of task, whatever the configuration sets for it.
    pub(crate) fn without_routing(mut self) -> Self {
        self.routes = false;
        self
    }

    /// Returns the name of the agent for tasks of this kind that name none.
    fn default_for(&self, kind: WorkerKind) -> Option<&str> {
        let routing = &self.config.routing;
        let routed = match kind {
            WorkerKind::Backend => &routing.backend,
            WorkerKind::Frontend => &routing.frontend,
            WorkerKind::Test => &routing.test,
            _ => &None,
        };
        let routed = routed.as_deref().filter(|_| self.routes);
        routed.or(self.default())
    }

    /// Returns the name of the agent to use if none is named.
    fn default(&self) -> Option<&str> {
        let configured = self.config.default_agent.as_deref();
        self.default.as_deref().or(configured)
    }

    /// Returns `true` if an agent is named as the default, also if it does not exist.
    pub(crate) fn has_default(&self) -> bool {
        self.default().is_some()
    }

    /// Returns the configuration of the named agent, or of the default agent.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<AgentConfig> {
        let known = self.registry.available();
        let Some(name) = name.or(self.default()) else {
            let configured = self.config.all_agents().map(|agent| agent.name);
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
        if let Some(composite) = &agent.composite {
            let inside: Vec<&str> = inside
                .iter()
                .copied()
                .chain([agent.name.as_str()])
                .collect();
            let handle = self
                .open_composite(composite, &inside)
                .map_err(|error| match error {
                    Error::Config { key, problem } if !key.contains('.') => {
                        let name = agent.profile();
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
        let created = self.registry.create(&agent.backend, &settings_table(agent));
        let handle = created.map_err(|error| match error {
            Error::Config { key, problem } => {
                Error::config(format!("agents.{}.{key}", agent.name), problem)
            }
            other => other,
        })?;
        let schema = agent.settings.schema_mode.map(Value::from);
        let schema = schema.and_then(|mode| serde_json::from_value(mode).ok());
        let handle = handle.with_schema_setting(schema.unwrap_or_default());
        let defaults = handle.limits();
        Ok(handle.with_limits(TurnLimits {
            deadline: agent.timeout().unwrap_or(self.config.limits.turn_secs),
            stall: self.config.limits.stall_secs.or(defaults.stall),
            ..defaults
        }))
    }

    /// Creates a composite inside these composites; it becomes the last one. Each of its nodes is cached under its own
    /// name.
    fn open_composite(
        &self,
        composite: &CompositeSettings,
        inside: &[&str],
    ) -> Result<AgentHandle> {
        let Some(kind) = composite.kind else {
            let problem = "is not set: set how the nodes work together";
            return Err(Error::config("kind", problem));
        };
        let Some(names) = &composite.nodes else {
            let problem = "is not set: list the agents that it consists of";
            return Err(Error::config("nodes", problem));
        };
        let mut nodes = Vec::with_capacity(names.len());
        for name in names {
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
            nodes.push(Node::new(name, self.get_or_open(name, &found, inside)?));
        }
        let defaults = CompositeProfile::new(kind);
        let profile = CompositeProfile {
            on: composite.on.clone().unwrap_or(defaults.on),
            cool_down: composite.cool_down_secs.unwrap_or(defaults.cool_down),
            ..defaults
        };
        Ok(Composite::new(profile, nodes)?.handle())
    }

    /// Returns the cached agent of this name, or creates and caches it.
    fn get_or_open(&self, name: &str, agent: &AgentConfig, inside: &[&str]) -> Result<AgentHandle> {
        let name = self.cache_key(name, agent);
        if let Some(handle) = self.open.lock().get(name) {
            return Ok(handle.clone());
        }
        let handle = self.open_nested(agent, inside)?;
        if self.open.lock().len() < MAX_CACHED {
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

    /// Caches this agent under a name.
    fn insert(&self, name: &str, handle: AgentHandle) {
        self.open.lock().insert(name.to_owned(), handle);
    }
}

impl AgentResolver for AgentCatalog {
    fn resolve(&self, name: Option<&str>, kind: WorkerKind) -> Result<AgentHandle> {
        let name = name.or(self.default_for(kind));
        if let Some(handle) = name.and_then(|name| self.open.lock().get(name).cloned()) {
            return Ok(handle);
        }
        let agent = self.find(name)?;
        let name = name.unwrap_or(&agent.name);
        self.get_or_open(name, &agent, &[])
    }

    fn resolve_for_task(&self, task: &Task) -> Result<AgentHandle> {
        let name = task.agent.as_deref();
        let name = name.or(self.default_for(task.kind));
        let Some(settings) = &task.agent_settings else {
            return self.resolve(name, task.kind);
        };
        let mut agent = self.find(name)?;
        apply(settings, &mut agent);
        // A separate name for each combination, so that a cached agent is not used with other settings.
        let key = format!("{} {}", agent.name, serde_json::json!(settings));
        self.get_or_open(&key, &agent, &[])
    }

    fn name_for(&self, task: &Task, agent: &AgentHandle) -> String {
        let name = task.agent.as_deref();
        let name = name.or(self.default_for(task.kind));
        name.unwrap_or(agent.name()).to_owned()
    }
}

/// Applies the settings of one task to an agent. Those of a composite's nodes stay.
fn apply(settings: &windlass_tasks::AgentSettings, agent: &mut AgentConfig) {
    if agent.composite.is_some() {
        return;
    }
    if let Some(model) = &settings.model {
        agent.model = Some(model.clone());
    }
    if let Some(endpoint) = &settings.endpoint {
        if agent.settings.endpoint.as_ref() != Some(endpoint) {
            // A key is sent only to the server that it was configured for.
            agent.settings.api_key_env = None;
        }
        agent.settings.endpoint = Some(endpoint.clone());
    }
    if let Some(steps) = settings.max_steps {
        agent.settings.max_steps = Some(steps);
    }
    if let Some(seconds) = settings.request_timeout_secs {
        agent.settings.request_timeout_secs = Some(Duration::from_secs(seconds));
    }
}

fn invalid_input(error: config::Error) -> Error {
    Error::InvalidInput(error.to_string())
}

/// Returns the settings that the backend receives. A program also gets the agent's name, under which its model calls are
/// counted.
fn settings_table(agent: &AgentConfig) -> Value {
    let mut table = agent.table();
    if registry::local_backends().any(|name| name == agent.backend) {
        table["name"] = agent.name.as_str().into();
    }
    table
}

#[cfg(test)]
mod tests {
    use windlass_agents::composite::FallbackCause;

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
