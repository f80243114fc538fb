//! The registry of backends by name.

mod reference;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub use reference::{Export, ReferenceError};

use crate::{AgentHandle, Error, Result};

/// Creates an agent from its configuration.
pub type BackendFactory = Box<dyn Fn(&Value) -> Result<AgentHandle> + Send + Sync>;

/// The backends known to a program. It is filled once at startup and then only read.
#[derive(Default)]
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
        self.factories.insert(name.to_owned(), Box::new(factory));
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
    /// A name with a colon is resolved as a reference.
    pub fn create(&self, name: &str, config: &Value) -> Result<AgentHandle> {
        if let Some(factory) = self.factories.get(name) {
            return factory(config);
        }
        if name.contains(':') {
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

/// An unknown name, with the known names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    kind: &'static str,
    name: String,
    known: Vec<String>,
}

impl UnknownName {
    /// Creates an error for an unknown name of the given kind.
    pub fn new(kind: &'static str, name: &str, known: Vec<&str>) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            known: known.into_iter().map(str::to_owned).collect(),
        }
    }

    /// Returns the known name that was probably meant.
    pub fn suggestion(&self) -> Option<&str> {
        closest(&self.name, self.known.iter().map(String::as_str))
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {} {:?}", self.kind, self.name)?;
        if let Some(suggestion) = self.suggestion() {
            write!(f, ", did you mean {suggestion:?}?")?;
        }
        if self.known.is_empty() {
            write!(f, " (none available)")
        } else {
            write!(f, " (available: {})", self.known.join(", "))
        }
    }
}

/// Returns the known name closest to a misspelled one, if any is similar.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(similarity, _)| *similarity > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
