//! Which backends there are, by name.

mod reference;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub use reference::{Export, ReferenceError};

use crate::{AgentHandle, Error, Result};

/// Makes an agent from its configuration.
pub type BackendFactory = Box<dyn Fn(&Value) -> Result<AgentHandle> + Send + Sync>;

/// The backends that a program knows: filled once where the program is put together, then only read.
#[derive(Default)]
pub struct AgentRegistry {
    factories: BTreeMap<String, BackendFactory>,
    modules: BTreeMap<String, BTreeMap<String, Export>>,
}

impl AgentRegistry {
    /// A registry without backends.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a backend; a later one of the same name takes the place of an earlier.
    #[must_use]
    pub fn register<F>(mut self, name: &str, factory: F) -> Self
    where
        F: Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static,
    {
        self.factories.insert(name.to_owned(), Box::new(factory));
        self
    }

    /// Adds something that [`load_agent_backend`](Self::load_agent_backend) can find as `module:attr`.
    #[must_use]
    pub fn export(mut self, module: &str, attr: &str, export: Export) -> Self {
        self.modules
            .entry(module.to_owned())
            .or_default()
            .insert(attr.to_owned(), export);
        self
    }

    /// Makes an agent of the backend with this name.
    ///
    /// A name with a colon is a reference, and is loaded as such.
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

    /// The names that [`create`](Self::create) knows, in order.
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

/// Reads a backend's configuration, and says which key does not fit where one does not.
pub fn parse_config<T: DeserializeOwned>(config: &Value) -> Result<T> {
    serde_path_to_error::deserialize(config).map_err(|error| {
        let key = error.path().to_string();
        Error::config(key, error.into_inner().to_string())
    })
}

/// A name that nothing has, beside the names that there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    kind: &'static str,
    name: String,
    known: Vec<String>,
}

impl UnknownName {
    /// No thing of this kind has this name; these are the ones there are.
    pub fn new(kind: &'static str, name: &str, known: Vec<&str>) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            known: known.into_iter().map(str::to_owned).collect(),
        }
    }

    /// The known name that was probably meant.
    pub fn suggestion(&self) -> Option<&str> {
        closest(&self.name, self.known.iter().map(String::as_str))
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no {} is called {:?}", self.kind, self.name)?;
        if let Some(nearest) = self.suggestion() {
            write!(f, ", did you mean {nearest:?}?")?;
        }
        if self.known.is_empty() {
            write!(f, " (there are none)")
        } else {
            write!(f, " (there are: {})", self.known.join(", "))
        }
    }
}

/// The one of these names that is closest to a misspelt one, if any is close.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
