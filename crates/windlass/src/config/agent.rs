//! The configuration of one agent.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use super::setting::SettingMap;

/// What a composite's name begins with, wherever an agent's name can stand.
pub(super) const PROFILE: &str = "composite/profile/";
/// The backend of every composite.
const COMPOSITE: &str = "composite";

/// One agent as its backend's factory gets it.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct AgentConfig {
    /// The agent's name.
    pub name: String,
    /// The backend that reaches it; its own name where the configuration does not say.
    pub backend: String,
    /// Everything else that is set for it, in the proper spelling of each key. Values in it may be secret.
    pub table: Value,
}

impl AgentConfig {
    /// An agent about which nothing is set: the backend of that name.
    pub(super) fn bare(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            backend: name.to_owned(),
            table: Value::Object(Map::new()),
        }
    }

    /// An agent that stands in no configuration: this backend with these settings.
    pub(crate) fn from_table(backend: &str, table: Value) -> Self {
        Self {
            table,
            ..Self::bare(backend)
        }
    }

    /// An agent with what the settings say about it, if they say anything.
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

    /// A composite with what the settings say about it, if they say anything.
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

    /// The name of the composite that it is, if it is one.
    pub fn composite_name(&self) -> Option<&str> {
        let name = self.name.strip_prefix(PROFILE)?;
        (self.backend == COMPOSITE).then_some(name)
    }

    /// How long one of its turns may take, where that is set.
    pub fn timeout(&self) -> Option<Duration> {
        let seconds = self.table.get("timeout_secs")?.as_u64()?;
        Some(Duration::from_secs(seconds))
    }

    /// The model it is to use, where that is set.
    pub fn model(&self) -> Option<&str> {
        self.table.get("model")?.as_str()
    }

    /// The variable that holds its key, where that is set.
    pub fn api_key_env(&self) -> Option<&str> {
        self.table.get("api_key_env")?.as_str()
    }
}

impl fmt::Debug for AgentConfig {
    /// The values may be secret and are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.table.as_object().map(|table| table.keys());
        f.debug_struct("AgentConfig")
            .field("name", &self.name)
            .field("backend", &self.backend)
            .field("set", &keys.into_iter().flatten().collect::<Vec<_>>())
            .finish()
    }
}

/// Puts a value at its place below the table, making tables on the way.
fn insert(table: &mut Value, below: &[String], value: &Value) {
    let place = below.iter().fold(table, |table, part| {
        if !table.is_object() {
            *table = Value::Object(Map::new());
        }
        &mut table[part.as_str()]
    });
    *place = value.clone();
}
