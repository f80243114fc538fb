//! Finds an agent by the name that a person, a task or a client uses for it.

use std::collections::BTreeSet;

use windlass_core::registry;

use super::agent::PROFILE;
use super::{AgentConfig, Config, Error, Result};

impl Config {
    /// Returns the configured agent of this name.
    pub fn agent(&self, name: &str) -> Option<AgentConfig> {
        let settings = self.agents.get(name)?;
        Some(AgentConfig::new(name, settings.clone()))
    }

    /// Returns the composite of this profile.
    fn composite(&self, profile: &str) -> Option<AgentConfig> {
        let settings = self.composites.get(profile)?;
        Some(AgentConfig::from_composite(profile, settings.clone()))
    }

    /// Returns all configured agents and then all composites, each sorted by name.
    pub fn all_agents(&self) -> impl Iterator<Item = AgentConfig> {
        let agents = self.agents.keys().filter_map(|name| self.agent(name));
        let composites = self.composites.keys();
        agents.chain(composites.filter_map(|profile| self.composite(profile)))
    }

    /// Returns the agent for a name: a configured agent, or else the backend of that name. `agent/model` is that
    /// agent with that model, `composite/profile/NAME` is that composite, and an alias of `model_list` is the agent
    /// behind it.
    pub fn resolve_agent(&self, name: &str, backends: &[&str]) -> Result<AgentConfig> {
        let found = match self.model_list.get(name) {
            Some(alias) if !self.agents.contains_key(name) => {
                let found = self.resolve_without_aliases(&alias.agent, backends);
                found.map(|agent| AgentConfig {
                    model: alias.model.clone().or(agent.model),
                    ..agent
                })
            }
            _ => self.resolve_without_aliases(name, backends),
        };
        // Aliases are also candidates for the suggestion.
        found.map_err(|error| match error {
            Error::UnknownAgent { name, known, .. } => {
                let aliases = self.model_list.keys();
                let known = known.iter().chain(aliases).map(String::as_str);
                unknown_agent(&name, known)
            }
            other => other,
        })
    }

    /// Like [`resolve_agent`](Self::resolve_agent), without aliases: an alias cannot refer to another alias.
    fn resolve_without_aliases(&self, name: &str, backends: &[&str]) -> Result<AgentConfig> {
        if let Some(agent) = self.agent(name) {
            return Ok(agent);
        }
        if backends.contains(&name) {
            return Ok(AgentConfig::new(name, Default::default()));
        }
        if let Some(profile) = name.strip_prefix(PROFILE)
            && let Some(composite) = self.composite(profile)
        {
            return Ok(composite);
        }
        if let Some((agent, model)) = name.split_once('/').filter(|(_, model)| !model.is_empty())
            && let Ok(agent) = self.resolve_without_aliases(agent, backends)
        {
            return Ok(AgentConfig {
                model: Some(model.to_owned()),
                ..agent
            });
        }
        let known: Vec<String> = self.all_agents().map(|agent| agent.name).collect();
        let known = known.iter().map(String::as_str);
        Err(unknown_agent(name, known.chain(backends.iter().copied())))
    }
}

/// Creates the error for an unknown agent.
fn unknown_agent<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let known: BTreeSet<&str> = known.collect();
    Error::UnknownAgent {
        name: name.to_owned(),
        closest: registry::closest(name, known.iter().copied()).map(str::to_owned),
        known: known.into_iter().map(str::to_owned).collect(),
    }
}
