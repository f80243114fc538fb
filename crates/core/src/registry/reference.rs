//! Backends by reference: `module:attr` or `module.attr`.

use std::fmt;
use std::sync::Arc;

use super::AgentRegistry;
use crate::lookup::{ReferenceError, UnknownName};
use crate::{AgentBackend, AgentHandle, Result};

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
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Instance(_) => "Instance",
            Self::Type(_) => "Type",
            Self::Factory(_) => "Factory",
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
        match export {
            Export::Instance(handle) => Ok(handle.clone()),
            Export::Type(build) => Ok(build()),
            Export::Factory(make) => make(),
            Export::Other(what) => Err(ReferenceError::NotABackend {
                label: label.to_owned(),
                reference: reference.to_owned(),
                what: (*what).to_owned(),
            }
            .into()),
        }
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
