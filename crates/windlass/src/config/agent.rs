//! The configuration of one agent.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use super::setting::SettingMap;

/// The prefix of a composite's name wherever an agent's name is expected.
pub(super) const PROFILE: &str = "composite/profile/";
/// The backend of every composite.
const COMPOSITE: &str = "composite";

/// The configuration of one agent, as passed to its backend's factory.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct AgentConfig {
    /// The agent's name.
    pub name: String,
    /// The backend; the agent's own name if the configuration does not set one.
    pub backend: String,
    /// All other settings of the agent, by canonical key. Values may be secret.
    pub table: Value,
}

impl AgentConfig {
    /// Returns an agent without settings: the backend of that name.
    pub(super) fn bare(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            backend: name.to_owned(),
            table: Value::Object(Map::new()),
        }
    }

    /// Returns an agent that is not in the configuration: this backend with these settings.
    pub(crate) fn from_table(backend: &str, table: Value) -> Self {
        Self {
            table,
            ..Self::bare(backend)
        }
    }

    /// Returns the configured agent of this name, if it has any setting.
    pub(super) fn from_settings(name: &str, settings: &SettingMap) -> Option<Self> {
        let mut agent = Self::bare(name);
        let mut is_set = false;
        for (below, setting) in settings.in_table("agents", name) {
            is_set = true;
            match (below, setting.value.as_str()) {
                ([key], Some(backend)) if key == "backend" => {
                    backend.clone_into(&mut agent.backend)
                }
                _ => insert(&mut agent.table, below, &setting.value),
            }
        }
        is_set.then_some(agent)
    }

    /// Returns the configured composite of this name, if it has any setting.
    pub(super) fn composite(name: &str, settings: &SettingMap) -> Option<Self> {
        let mut agent = Self {
            backend: COMPOSITE.to_owned(),
            ..Self::bare(&format!("{PROFILE}{name}"))
        };
        let mut is_set = false;
        for (below, setting) in settings.in_table("composites", name) {
            is_set = true;
            insert(&mut agent.table, below, &setting.value);
        }
        is_set.then_some(agent)
    }

    /// Returns the composite's name, if this agent is a composite.
    pub fn composite_name(&self) -> Option<&str> {
        let name = self.name.strip_prefix(PROFILE)?;
        (self.backend == COMPOSITE).then_some(name)
    }

    /// Returns the timeout of one turn, if set.
    pub fn timeout(&self) -> Option<Duration> {
        let seconds = self.table.get("timeout_secs")?.as_u64()?;
        Some(Duration::from_secs(seconds))
    }

    /// Returns the model, if set.
    pub fn model(&self) -> Option<&str> {
        self.table.get("model")?.as_str()
    }

    /// Returns `true` if the agent may reach every network host.
    pub fn has_open_network(&self) -> bool {
        self.table
            .get("network")
            .is_some_and(|value| value == "open")
    }

    /// Returns the variable that holds its key, if set.
    pub fn api_key_env(&self) -> Option<&str> {
        self.table.get("api_key_env")?.as_str()
    }
}

impl fmt::Debug for AgentConfig {
    /// Omits the values, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.table.as_object().map(|table| table.keys());
        f.debug_struct("AgentConfig")
            .field("name", &self.name)
            .field("backend", &self.backend)
            .field("set", &keys.into_iter().flatten().collect::<Vec<_>>())
            .finish()
    }
}

/// Sets a value at a path below the table and creates the tables on the path.
fn insert(table: &mut Value, below: &[String], value: &Value) {
    let target = below.iter().fold(table, |table, part| {
        if !table.is_object() {
            *table = Value::Object(Map::new());
        }
        &mut table[part.as_str()]
    });
    *target = value.clone();
}
