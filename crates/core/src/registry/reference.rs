//! Backends by reference: `module:attr` or `module.attr`.

use std::fmt;
use std::sync::Arc;

use super::AgentRegistry;
use crate::lookup::{ReferenceError, UnknownName};
use crate::{AgentBackend, AgentHandle, InvocationBackend, Result};

/// Creates an invocation backend.
type InvocationFactory = Arc<dyn Fn() -> Result<Arc<dyn InvocationBackend>> + Send + Sync>;

/// What a module exports under one attribute.
#[derive(Clone)]
#[non_exhaustive]
pub enum Export {
    /// An existing agent.
    Instance(AgentHandle),
    /// A type with a default constructor, called for each load. See [`Export::of`].
    Type(fn() -> AgentHandle),
    /// A function that creates an agent.
    Factory(Arc<dyn Fn() -> Result<AgentHandle> + Send + Sync>),
    /// A backend without sessions, or a function that creates one. See [`Export::invocation`].
    Invocation(InvocationFactory),
    /// Something that is not a backend, with a description of what it is.
    Other(&'static str),
}

impl Export {
    /// Exports a backend type that needs no configuration.
    pub fn of<B: AgentBackend + Default + 'static>() -> Self {
        Self::Type(|| AgentHandle::wrap(B::default()))
    }

    /// Exports a function that creates an agent.
    pub fn factory(make: impl Fn() -> Result<AgentHandle> + Send + Sync + 'static) -> Self {
        Self::Factory(Arc::new(make))
    }

    /// Exports an existing invocation backend.
    pub fn invocation(backend: impl InvocationBackend + 'static) -> Self {
        let backend: Arc<dyn InvocationBackend> = Arc::new(backend);
        Self::Invocation(Arc::new(move || Ok(Arc::clone(&backend))))
    }

    /// Exports the type of an invocation backend that needs no configuration.
    pub fn invocation_of<B: InvocationBackend + Default + 'static>() -> Self {
        Self::invocation_factory(|| Ok(B::default()))
    }

    /// Exports a function that creates an invocation backend.
    pub fn invocation_factory<B: InvocationBackend + 'static>(
        make: impl Fn() -> Result<B> + Send + Sync + 'static,
    ) -> Self {
        Self::Invocation(Arc::new(move || Ok(Arc::new(make()?))))
    }
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Instance(_) => "Instance",
            Self::Type(_) => "Type",
            Self::Factory(_) => "Factory",
            Self::Invocation(_) => "Invocation",
            Self::Other(_) => "Other",
        })
    }
}

impl AgentRegistry {
    /// Returns `true` if a name is the reference of an export in a known module.
    pub(super) fn is_reference(&self, name: &str) -> bool {
        split(name).is_some_and(|(module, _)| self.modules.contains_key(module))
    }

    /// Creates the backend that is exported under `module:attr` or `module.attr`.
    ///
    /// The label names the setting that contains the reference. Every error message starts with it.
    pub fn load_agent_backend(&self, reference: &str, label: &str) -> Result<AgentHandle> {
        let what = match self.find_export(reference, label)? {
            Export::Instance(handle) => return Ok(handle.clone()),
            Export::Type(build) => return Ok(build()),
            Export::Factory(make) => return make(),
            Export::Invocation(_) => "an invocation backend without sessions",
            Export::Other(what) => what,
        };
        Err(ReferenceError::NotABackend {
            label: label.to_owned(),
            reference: reference.to_owned(),
            what: what.to_owned(),
        }
        .into())
    }

    /// Creates the invocation backend that is exported under `module:attr` or `module.attr`.
    ///
    /// The label names the setting that contains the reference. Every error message starts with it.
    pub fn load_invocation_backend(
        &self,
        reference: &str,
        label: &str,
    ) -> Result<Arc<dyn InvocationBackend>> {
        let what = match self.find_export(reference, label)? {
            Export::Invocation(make) => return make(),
            Export::Other(what) => what,
            _ => "an agent backend with sessions",
        };
        Err(ReferenceError::NoRun {
            label: label.to_owned(),
            reference: reference.to_owned(),
            what: what.to_owned(),
        }
        .into())
    }

    fn find_export(&self, reference: &str, label: &str) -> Result<&Export> {
        let (module, attr) = split(reference).ok_or_else(|| ReferenceError::Form {
            label: label.to_owned(),
            reference: reference.to_owned(),
        })?;
        let exports = self.modules.get(module).ok_or_else(|| {
            let known = self.modules.keys().map(String::as_str).collect();
            ReferenceError::Module {
                label: label.to_owned(),
                unknown: UnknownName::new("module", module, known),
            }
        })?;
        let export = exports.get(attr).ok_or_else(|| {
            let known = exports.keys().map(String::as_str).collect();
            ReferenceError::Attribute {
                label: label.to_owned(),
                module: module.to_owned(),
                unknown: UnknownName::new("attribute", attr, known),
            }
        })?;
        Ok(export)
    }
}

/// Splits a reference into module and attribute, at the colon or else at the last dot.
fn split(reference: &str) -> Option<(&str, &str)> {
    let (module, attr) = match reference.split_once(':') {
        Some(parts) => parts,
        None => reference.rsplit_once('.')?,
    };
    let is_name = |text: &str| {
        text.split('.').all(|part| {
            !part.is_empty()
                && part
                    .chars()
                    .all(|c| c.is_alphanumeric() || c == '_' || c == '-')
        })
    };
    (is_name(module) && is_name(attr)).then_some((module, attr))
}
