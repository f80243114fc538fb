//! The registry of backends by name.

mod reference;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub use reference::Export;

pub use crate::lookup::{ReferenceError, UnknownName, closest};
use crate::{AgentHandle, Error, Result};

/// Creates an agent from its configuration.
pub type BackendFactory = Arc<dyn Fn(&Value) -> Result<AgentHandle> + Send + Sync>;

/// The backends known to a program. It is filled once at startup and then only read.
#[derive(Clone, Default)]
pub struct AgentRegistry {
    factories: BTreeMap<String, BackendFactory>,
    modules: BTreeMap<String, BTreeMap<String, Export>>,
}

impl AgentRegistry {
    /// Creates an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a backend. A later one with the same name replaces an earlier one.
    #[must_use]
    pub fn register<F>(mut self, name: &str, factory: F) -> Self
    where
        F: Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static,
    {
        self.factories.insert(name.to_owned(), Arc::new(factory));
        self
    }

    /// Adds an export that [`load_agent_backend`](Self::load_agent_backend) can find as `module:attr`.
    #[must_use]
    pub fn export(mut self, module: &str, attr: &str, export: Export) -> Self {
        self.modules
            .entry(module.to_owned())
            .or_default()
            .insert(attr.to_owned(), export);
        self
    }

    /// Creates an agent with the backend of this name.
    ///
    /// A name with a colon is resolved as a reference, and so is `module.attr` if there is such a module.
    pub fn create(&self, name: &str, config: &Value) -> Result<AgentHandle> {
        if let Some(factory) = self.factories.get(name) {
            return factory(config);
        }
        if name.contains(':') || self.is_reference(name) {
            return self.load_agent_backend(name, "backend");
        }
        Err(Error::UnknownBackend(UnknownName::new(
            "backend",
            name,
            self.available(),
        )))
    }

    /// Returns the names that [`create`](Self::create) accepts, sorted.
    pub fn available(&self) -> Vec<&str> {
        self.factories.keys().map(String::as_str).collect()
    }
}

impl fmt::Debug for AgentRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentRegistry")
            .field("available", &self.available())
            .finish_non_exhaustive()
    }
}

/// Parses a backend's configuration. The error names the invalid key.
pub fn parse_config<T: DeserializeOwned>(config: &Value) -> Result<T> {
    serde_path_to_error::deserialize(config).map_err(|error| {
        let key = error.path().to_string();
        Error::config(key, error.into_inner().to_string())
    })
}
