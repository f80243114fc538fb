//! Backends by reference: `module:attr` or `module.attr`.

use std::fmt;

use super::{AgentRegistry, UnknownName};
use crate::{AgentBackend, AgentHandle, Result};

/// What a module offers under one attribute.
#[non_exhaustive]
pub enum Export {
    /// An agent that is ready.
    Instance(AgentHandle),
    /// A type that builds itself, made anew for each load. See [`Export::of`].
    Type(fn() -> AgentHandle),
    /// A function that makes an agent.
    Factory(Box<dyn Fn() -> Result<AgentHandle> + Send + Sync>),
    /// Something that is no backend, with the word for what it is.
    Other(&'static str),
}

impl Export {
    /// A backend type that needs no configuration.
    pub fn of<B: AgentBackend + Default + 'static>() -> Self {
        Self::Type(|| AgentHandle::wrap(B::default()))
    }

    /// A function that makes an agent.
    pub fn factory(make: impl Fn() -> Result<AgentHandle> + Send + Sync + 'static) -> Self {
        Self::Factory(Box::new(make))
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

/// Why a reference leads to no backend. Every message starts with the label the caller gave.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReferenceError {
    /// The text is no reference.
    #[error("{label}: {reference:?} is no backend reference: write module:attr or module.attr")]
    Form {
        /// Whose setting it is.
        label: String,
        /// What was written.
        reference: String,
    },
    /// No such module.
    #[error("{label}: {unknown}")]
    Module {
        /// Whose setting it is.
        label: String,
        /// The module asked for, and those there are.
        unknown: UnknownName,
    },
    /// The module has no such attribute.
    #[error("{label}: in module {module}, {unknown}")]
    Attribute {
        /// Whose setting it is.
        label: String,
        /// The module, which exists.
        module: String,
        /// The attribute asked for, and those there are.
        unknown: UnknownName,
    },
    /// The attribute is something else.
    #[error("{label}: {reference} is {what}, not an agent backend")]
    NotABackend {
        /// Whose setting it is.
        label: String,
        /// What was written.
        reference: String,
        /// What it is instead.
        what: String,
    },
}

impl AgentRegistry {
    /// Finds a backend by `module:attr` or `module.attr` among the exports, and makes it.
    ///
    /// The label says whose setting the reference is, and begins every error message.
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

/// Module and attribute of a reference. A colon decides; without one, the last dot does.
fn split(reference: &str) -> Option<(&str, &str)> {
    let (module, attr) = match reference.split_once(':') {
        Some(parts) => parts,
        None => reference.rsplit_once('.')?,
    };
    let name = |text: &str| {
        text.split('.').all(|part| {
            !part.is_empty()
                && part
                    .chars()
                    .all(|c| c.is_alphanumeric() || c == '_' || c == '-')
        })
    };
    (name(module) && name(attr)).then_some((module, attr))
}
