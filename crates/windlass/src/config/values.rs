//! The configuration as the rest of the program asks for it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::SecretString;
use serde::Serialize;
use serde_json::Value;

use super::agent::PROFILE;
use super::setting::SettingMap;
use super::{AgentConfig, Error, Inputs, Key, Notice, Origin, Result, load, suggest};

/// What a configuration says once all its layers lie over each other.
#[derive(Debug, Clone)]
pub struct Config {
    pub(super) settings: SettingMap,
    pub(super) notices: Vec<Notice>,
    pub(super) secrets: BTreeMap<String, SecretString>,
    pub(super) root: PathBuf,
}

/// One line of `windlass config`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ConfigEntry {
    /// The key.
    pub key: String,
    /// The value as JSON, secrets left out, safe on a terminal.
    pub value: String,
    /// Who set it.
    pub origin: Origin,
}

impl Config {
    /// The configuration that these inputs mean. It reads files and does nothing else to the world.
    pub fn load(inputs: &Inputs) -> Result<Self> {
        load::load(inputs)
    }

    /// The agent that answers when none is named.
    pub fn default_agent(&self) -> Option<&str> {
        self.text("default_agent")
    }

    /// An agent that the configuration says something about.
    pub fn agent(&self, name: &str) -> Option<AgentConfig> {
        AgentConfig::from_settings(name, &self.settings)
    }

    /// All agents that the configuration says something about.
    pub fn agents(&self) -> Vec<AgentConfig> {
        let names = self.settings.agents().into_iter();
        names.filter_map(|name| self.agent(name)).collect()
    }

    /// All composites, in the order of their names.
    pub fn composites(&self) -> Vec<AgentConfig> {
        let names = self.settings.names("composites").into_iter();
        names
            .filter_map(|name| AgentConfig::composite(name, &self.settings))
            .collect()
    }

    /// The agent of this name: a configured one, or else the backend that is called so; `agent/model` is that agent
    /// with that model, `composite/profile/NAME` that composite, and an alias of `model_list` whoever it stands for.
    pub fn resolve_agent(&self, name: &str, backends: &[&str]) -> Result<AgentConfig> {
        let found = match self.alias(name) {
            Some(alias) if self.agent(name).is_none() => {
                let mut agent = self.resolve_worker(&alias.agent, backends)?;
                if let Some(model) = alias.model {
                    agent.table["model"] = model.into();
                }
                Ok(agent)
            }
            _ => self.resolve_worker(name, backends),
        };
        // Where nobody is called so, aliases could have been meant too.
        found.map_err(|error| match error {
            Error::UnknownAgent { name, known } => {
                let aliases = self.settings.names("model_list");
                let known = known.iter().map(String::as_str).chain(aliases);
                let known = suggest::by_similarity(&name, known)
                    .into_iter()
                    .map(str::to_owned);
                Error::UnknownAgent {
                    known: known.collect(),
                    name,
                }
            }
            other => other,
        })
    }

    /// The same for a name that is no alias: aliases stand for agents, not for each other.
    fn resolve_worker(&self, name: &str, backends: &[&str]) -> Result<AgentConfig> {
        if let Some(agent) = self.agent(name) {
            return Ok(agent);
        }
        if backends.contains(&name) {
            return Ok(AgentConfig::bare(name));
        }
        if let Some(profile) = name.strip_prefix(PROFILE)
            && let Some(composite) = AgentConfig::composite(profile, &self.settings)
        {
            return Ok(composite);
        }
        if let Some((agent, model)) = name.split_once('/').filter(|(_, model)| !model.is_empty())
            && let Ok(mut agent) = self.resolve_worker(agent, backends)
        {
            agent.table["model"] = model.into();
            return Ok(agent);
        }
        let composites = self.settings.names("composites").into_iter();
        let composites: Vec<String> = composites.map(|name| format!("{PROFILE}{name}")).collect();
        let known = self
            .settings
            .agents()
            .into_iter()
            .chain(backends.iter().copied())
            .chain(composites.iter().map(String::as_str));
        let known = suggest::by_similarity(name, known)
            .into_iter()
            .map(str::to_owned);
        Err(Error::UnknownAgent {
            name: name.to_owned(),
            known: known.collect(),
        })
    }

    /// A variable that holds a secret: from the environment, else from a trusted `.env`.
    pub fn secret(&self, name: &str) -> Option<SecretString> {
        self.secrets.get(name).cloned()
    }

    /// Everything that is set, in the order of the keys.
    pub fn entries(&self) -> Vec<ConfigEntry> {
        let settings = self.settings.iter();
        let entry = |(key, setting): (&Key, &super::setting::Setting)| ConfigEntry {
            key: key.to_string(),
            value: setting.display(),
            origin: setting.origin.clone(),
        };
        settings.map(entry).collect()
    }

    /// What a person should know, one line each.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The project's folder, to which relative paths in the configuration belong.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where tasks are kept. It may hold a password.
    pub fn store_url(&self) -> Option<&str> {
        self.text("store.url")
    }

    /// What isolates processes: `auto`, `bubblewrap`, `landlock` or `none`.
    pub fn sandbox_mechanism(&self) -> Option<&str> {
        self.text("sandbox.mechanism")
    }

    /// Paths that every sandboxed process may read; `~/` stands for the home folder.
    pub fn sandbox_readable(&self) -> Vec<&str> {
        let paths = self.value("sandbox.readable").and_then(Value::as_array);
        paths
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// How long a turn may take, for an agent without a time of its own.
    pub fn turn_deadline(&self) -> Option<Duration> {
        self.seconds("limits.turn_secs")
    }

    /// How long an agent may stay silent within a turn.
    pub fn stall(&self) -> Option<Duration> {
        self.seconds("limits.stall_secs")
    }

    /// The value of any key, by its dotted path. It may be secret.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.settings
            .get(&Key::dotted(key))
            .map(|setting| &setting.value)
    }

    /// A key that is a number.
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.value(key)?.as_u64()
    }

    /// A key that is a text.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.value(key)?.as_str()
    }

    /// A key that is a time.
    pub(crate) fn seconds(&self, key: &str) -> Option<Duration> {
        self.value(key)?.as_u64().map(Duration::from_secs)
    }
}
