//! The models that the gateway serves: every agent, every alias of `model_list` and every composite.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use windlass_agents::model::completion_model;
use windlass_core::{Error, registry};
use windlass_gateway::{ModelCatalog, ModelInfo, ModelInfoKind, ModelLookupError, ServedModel};
use windlass_runner::AgentResolver;

use crate::agent_catalog::{AgentCatalog, MAX_CACHED};
use crate::config::Config;

/// Backends that are not served as agents unless they are configured: `direct` is the older name of `claude`;
/// `replay` needs a cassette, and `acp` needs a command.
pub(crate) const NOT_SERVED: [&str; 3] = ["acp", "direct", "replay"];

/// The agents of a configuration, as models. Clones share the agents' processes and cool-downs.
#[derive(Debug, Clone)]
pub(crate) struct ConfiguredModels {
    agents: AgentCatalog,
    config: Arc<Config>,
    /// The models that were requested, by name. A configuration never changes.
    found: Arc<Mutex<BTreeMap<String, ServedModel>>>,
}

impl ConfiguredModels {
    pub(crate) fn new(agents: AgentCatalog, config: Arc<Config>) -> Self {
        let found = Arc::default();
        Self {
            agents,
            config,
            found,
        }
    }

    /// Returns the known name that is closest to an unknown one.
    fn suggestions(&self, name: &str) -> Vec<String> {
        let cards = self.list();
        let known = cards.iter().map(|card| card.id.as_str());
        let nearest = registry::closest(name, known);
        nearest.map(str::to_owned).into_iter().collect()
    }

    /// Finds the agent behind a name, and opens it.
    fn open(&self, name: &str) -> Result<ServedModel, ModelLookupError> {
        let agent = self
            .agents
            .find(Some(name))
            .map_err(|_| ModelLookupError::Unknown {
                name: name.to_owned(),
                near: self.suggestions(name),
            })?;
        let opened = self.agents.resolve(Some(name), Default::default());
        let handle = opened.map_err(|error: Error| ModelLookupError::Unavailable {
            name: name.to_owned(),
            problem: error.to_string(),
        })?;
        let alias = self.config.model_list.get(name);
        Ok(ServedModel {
            name: agent.name,
            native: completion_model(&handle),
            agent: handle,
            // A model in the name is already set in the agent; the session repeats it.
            model: agent.model,
            dir: alias.and_then(|alias| alias.folder.clone()),
            may_write: alias.is_some_and(|alias| alias.may_write),
            transcript_tools: alias.is_some_and(|alias| alias.transcript_tools),
        })
    }
}

impl ModelCatalog for ConfiguredModels {
    fn list(&self) -> Vec<ModelInfo> {
        let card = |id: String, kind| ModelInfo { id, kind };
        let (composites, agents): (Vec<_>, Vec<_>) = self
            .config
            .all_agents()
            .partition(|agent| agent.composite.is_some());
        let agents = agents.into_iter();
        let agents = agents.map(|agent| card(agent.name, ModelInfoKind::Agent));
        let composites = composites.into_iter();
        let composites = composites.map(|agent| card(agent.name, ModelInfoKind::Composite));
        let aliases = self.config.model_list.keys();
        let aliases = aliases.map(|name| card(name.clone(), ModelInfoKind::Alias));
        let cards: Vec<ModelInfo> = agents.chain(aliases).chain(composites).collect();
        if !cards.is_empty() {
            return cards;
        }
        // Without configured agents, list every backend by its name.
        let backends = self.agents.backends().into_iter();
        let backends = backends.filter(|backend| !NOT_SERVED.contains(backend));
        backends
            .map(|backend| card(backend.to_owned(), ModelInfoKind::Agent))
            .collect()
    }

    fn find(&self, name: &str) -> Result<ServedModel, ModelLookupError> {
        if let Some(served) = self.found.lock().get(name) {
            return Ok(served.clone());
        }
        let served = self.open(name)?;
        let mut found = self.found.lock();
        if found.len() < MAX_CACHED {
            found.insert(name.to_owned(), served.clone());
        }
        Ok(served)
    }
}
