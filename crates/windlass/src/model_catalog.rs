//! Whom the gateway can ask as a model: every agent, every alias of `model_list`, every composite.

use windlass_agents::model::completion_model;
use windlass_core::{Error, registry};
use windlass_gateway::{ModelCatalog, ModelInfo, ModelInfoKind, ModelLookupError, ServedModel};
use windlass_runner::AgentResolver;

use crate::agent_catalog::AgentCatalog;
use crate::config::Config;

/// Backends that are nobody by themselves: `direct` is the older name of `claude`; a replay without a cassette and `acp`
/// without a command are nothing.
pub(crate) const NOT_SERVED: [&str; 3] = ["acp", "direct", "replay"];

/// The agents of a configuration, as models. Clones share their processes, and who rests.
#[derive(Debug, Clone)]
pub(crate) struct ConfiguredModels {
    roster: AgentCatalog,
    config: Config,
}

impl ConfiguredModels {
    /// Those that this roster knows, under this configuration.
    pub(crate) fn new(roster: AgentCatalog, config: Config) -> Self {
        Self { roster, config }
    }

    /// The names that are closest to one that nobody has.
    fn suggestions(&self, name: &str) -> Vec<String> {
        let cards = self.list();
        let known = cards.iter().map(|card| card.id.as_str());
        let nearest = registry::closest(name, known);
        nearest.map(str::to_owned).into_iter().collect()
    }
}

impl ModelCatalog for ConfiguredModels {
    fn list(&self) -> Vec<ModelInfo> {
        let card = |id: String, kind| ModelInfo { id, kind };
        let agents = self.config.agents().into_iter();
        let agents = agents.map(|agent| card(agent.name, ModelInfoKind::Agent));
        let composites = self.config.composites().into_iter();
        let composites = composites.map(|agent| card(agent.name, ModelInfoKind::Composite));
        let aliases = self.config.aliases().into_iter();
        let aliases = aliases.map(|alias| card(alias.name, ModelInfoKind::Alias));
        let cards: Vec<ModelInfo> = agents.chain(aliases).chain(composites).collect();
        if !cards.is_empty() {
            return cards;
        }
        // Nobody is configured: then whoever there may be, by the name of its backend.
        let backends = self.roster.backends().into_iter();
        let backends = backends.filter(|backend| !NOT_SERVED.contains(backend));
        backends
            .map(|backend| card(backend.to_owned(), ModelInfoKind::Agent))
            .collect()
    }

    fn find(&self, name: &str) -> Result<ServedModel, ModelLookupError> {
        let agent = self
            .roster
            .find(Some(name))
            .map_err(|_| ModelLookupError::Unknown {
                name: name.to_owned(),
                near: self.suggestions(name),
            })?;
        let opened = self.roster.resolve(Some(name), Default::default());
        let handle = opened.map_err(|error: Error| ModelLookupError::Unavailable {
            name: name.to_owned(),
            problem: error.to_string(),
        })?;
        let alias = self.config.alias(name);
        Ok(ServedModel {
            name: agent.name.clone(),
            native: completion_model(&handle),
            agent: handle,
            // A model that the name says is set in the agent already; a session only has to repeat it.
            model: agent.model().map(str::to_owned),
            folder: alias.as_ref().and_then(|alias| alias.folder.clone()),
            may_write: alias.is_some_and(|alias| alias.may_write),
        })
    }
}
