//! The loaded configuration and its accessors.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::SecretString;
use serde::Serialize;
use serde_json::Value;

use super::agent::PROFILE;
use super::setting::SettingMap;
use super::{AgentConfig, Error, Inputs, Key, Notice, Origin, Result, load, suggest};

/// The configuration, merged from all layers.
#[derive(Debug, Clone)]
pub struct Config {
    pub(super) settings: SettingMap,
    pub(super) notices: Vec<Notice>,
    pub(super) secrets: BTreeMap<String, SecretString>,
    /// All variables of `.env`, trusted or not. They are masked, and used for nothing else.
    pub(super) dot_env: BTreeMap<String, SecretString>,
    pub(super) root: PathBuf,
}

/// One line of `windlass config`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ConfigEntry {
    /// The key.
    pub key: String,
    /// The value as JSON, with secrets redacted and control characters escaped.
    pub value: String,
    /// Where it was set.
    pub origin: Origin,
}

impl Config {
    /// Loads the configuration for these inputs. It reads files and has no other side effects.
    pub fn load(inputs: &Inputs) -> Result<Self> {
        load::load(inputs)
    }

    /// Returns the agent that is used if none is named.
    pub fn default_agent(&self) -> Option<&str> {
        self.text("default_agent")
    }

    /// Returns the configured agent of this name.
    pub fn agent(&self, name: &str) -> Option<AgentConfig> {
        AgentConfig::from_settings(name, &self.settings)
    }

    /// Returns all configured agents.
    pub fn agents(&self) -> Vec<AgentConfig> {
        let names = self.settings.agents().into_iter();
        names.filter_map(|name| self.agent(name)).collect()
    }

    /// Returns all composites, sorted by name.
    pub fn composites(&self) -> Vec<AgentConfig> {
        let names = self.settings.names("composites").into_iter();
        names
            .filter_map(|name| AgentConfig::composite(name, &self.settings))
            .collect()
    }

    /// Returns the agent for a name: a configured agent, or else the backend of that name. `agent/model` is that
    /// agent with that model, `composite/profile/NAME` is that composite, and an alias of `model_list` is the agent
    /// behind it.
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
        // Aliases are also candidates for the suggestion.
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

    /// Like [`resolve_agent`](Self::resolve_agent), without aliases: an alias cannot refer to another alias.
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

    /// Returns the secret in a variable: from the environment, else from a trusted `.env`.
    pub fn secret(&self, name: &str) -> Option<SecretString> {
        self.secrets.get(name).cloned()
    }

    /// Returns all settings, sorted by key.
    pub fn entries(&self) -> Vec<ConfigEntry> {
        let settings = self.settings.iter();
        let entry = |(key, setting): (&Key, &super::setting::Setting)| ConfigEntry {
            key: key.to_string(),
            value: setting.display(),
            origin: setting.origin.clone(),
        };
        settings.map(entry).collect()
    }

    /// Returns the notices for the user.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Returns the project's directory. Relative paths in the configuration are relative to it.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the value of a key as text for display, with secrets and passwords redacted.
    pub(crate) fn display(&self, key: &str) -> String {
        let setting = self.settings.get(&Key::dotted(key));
        setting
            .map(super::setting::Setting::display)
            .unwrap_or_default()
    }

    /// Returns the configured URL of the task store. It may contain a password.
    pub fn store_url(&self) -> Option<&str> {
        self.text("store.url")
    }

    /// Returns the sandbox mechanism: `auto`, `bubblewrap`, `landlock` or `none`.
    pub fn sandbox_mechanism(&self) -> Option<&str> {
        self.text("sandbox.mechanism")
    }

    /// Returns paths that every sandboxed process may read; `~/` is the home directory.
    pub fn sandbox_readable(&self) -> Vec<&str> {
        let paths = self.value("sandbox.readable").and_then(Value::as_array);
        paths
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// Returns the timeout of a turn, for an agent without its own timeout.
    pub fn turn_deadline(&self) -> Option<Duration> {
        self.seconds("limits.turn_secs")
    }

    /// Returns how long an agent may emit no events within a turn.
    pub fn stall(&self) -> Option<Duration> {
        self.seconds("limits.stall_secs")
    }

    /// Returns the value of a key, by its dotted path. It may be secret.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.settings
            .get(&Key::dotted(key))
            .map(|setting| &setting.value)
    }

    /// Returns the value of a key as a number.
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.value(key)?.as_u64()
    }

    /// Returns the value of a key as text.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.value(key)?.as_str()
    }

    /// Returns the value of a key as a duration.
    pub(crate) fn seconds(&self, key: &str) -> Option<Duration> {
        self.value(key)?.as_u64().map(Duration::from_secs)
    }
}
