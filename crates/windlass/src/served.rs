//! Whom the gateway can ask as a model: every agent, every alias of `model_list`, every composite.

use windlass_agents::model::answers;
use windlass_core::{Error, registry};
use windlass_gateway::{CardKind, ModelCard, Models, Served, Unserved};
use windlass_runner::Agents;

use crate::config::Config;
use crate::roster::Roster;

/// Backends that are nobody by themselves: `direct` is the older name of `claude`; a replay without a cassette and `acp`
/// without a command are nothing.
pub(crate) const NOBODY: [&str; 3] = ["acp", "direct", "replay"];

/// The agents of a configuration, as models. Clones share their processes, and who rests.
#[derive(Debug, Clone)]
pub(crate) struct ServedAgents {
    roster: Roster,
    config: Config,
}

impl ServedAgents {
    /// Those that this roster knows, under this configuration.
    pub(crate) fn new(roster: Roster, config: Config) -> Self {
        Self { roster, config }
    }

    /// The names that are closest to one that nobody has.
    fn near(&self, name: &str) -> Vec<String> {
        let cards = self.cards();
        let known = cards.iter().map(|card| card.id.as_str());
        let nearest = registry::nearest(name, known);
        nearest.map(str::to_owned).into_iter().collect()
    }
}

impl Models for ServedAgents {
    fn cards(&self) -> Vec<ModelCard> {
        let card = |id: String, kind| ModelCard { id, kind };
        let agents = self.config.agents().into_iter();
        let agents = agents.map(|agent| card(agent.name, CardKind::Agent));
        let composites = self.config.composites().into_iter();
        let composites = composites.map(|agent| card(agent.name, CardKind::Composite));
        let aliases = self.config.aliases().into_iter();
        let aliases = aliases.map(|alias| card(alias.name, CardKind::Alias));
        let cards: Vec<ModelCard> = agents.chain(aliases).chain(composites).collect();
        if !cards.is_empty() {
            return cards;
        }
        // Nobody is configured: then whoever there may be, by the name of its backend.
        let backends = self.roster.backends().into_iter();
        let backends = backends.filter(|backend| !NOBODY.contains(backend));
        backends
            .map(|backend| card(backend.to_owned(), CardKind::Agent))
            .collect()
    }

    fn find(&self, name: &str) -> Result<Served, Unserved> {
        let agent = self
            .roster
            .find(Some(name))
            .map_err(|_| Unserved::Unknown {
                name: name.to_owned(),
                near: self.near(name),
            })?;
        let opened = self.roster.agent(Some(name), Default::default());
        let handle = opened.map_err(|error: Error| Unserved::Unavailable {
            name: name.to_owned(),
            problem: error.to_string(),
        })?;
        let alias = self.config.alias(name);
        Ok(Served {
            name: agent.name.clone(),
            native: answers(&handle),
            agent: handle,
            // A model that the name says is set in the agent already; a session only has to repeat it.
            model: agent.model().map(str::to_owned),
            folder: alias.as_ref().and_then(|alias| alias.folder.clone()),
            may_write: alias.is_some_and(|alias| alias.may_write),
        })
    }
}
