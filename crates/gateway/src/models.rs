//! The models that can be requested.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use windlass_agents::model::CompletionModel;
use windlass_core::AgentHandle;

/// The models that can be requested. The program implements it from its configuration.
pub trait ModelCatalog: Send + Sync {
    /// Returns all models, for the model lists.
    fn list(&self) -> Vec<ModelInfo>;

    /// Returns the model with the given name.
    fn find(&self, name: &str) -> Result<ServedModel, ModelLookupError>;
}

/// An entry of the model list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// The name used in requests.
    pub id: String,
    /// The kind of model.
    pub kind: ModelInfoKind,
}

/// The kind of a served model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelInfoKind {
    /// An agent under its own name.
    Agent,
    /// Another name for an agent, with its own settings.
    Alias,
    /// Several agents that act as one.
    Composite,
}

impl ModelInfoKind {
    /// Returns the name of the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Alias => "alias",
            Self::Composite => "composite",
        }
    }
}

/// A model that is ready for a request.
#[derive(Clone)]
pub struct ServedModel {
    /// The agent's name, sent with each response.
    pub name: String,
    /// The agent.
    pub agent: AgentHandle,
    /// The same agent as a model that accepts messages and the caller's tools unchanged; `None` if it accepts
    /// only text.
    pub native: Option<Arc<dyn CompletionModel>>,
    /// The agent's own model, if the requested name contains one.
    pub model: Option<String>,
    /// The working directory. `None` means an empty directory for each request.
    pub dir: Option<PathBuf>,
    /// Whether it may change files. Otherwise it is read-only, regardless of the agent's settings.
    pub may_write: bool,
    /// Whether an agent that accepts only text gets the caller's tools in its prompt. Otherwise a request with tools is
    /// refused.
    pub transcript_tools: bool,
}

impl ServedModel {
    /// Creates a read-only agent that accepts only text and works in an empty directory.
    pub fn new(name: impl Into<String>, agent: AgentHandle) -> Self {
        Self {
            name: name.into(),
            agent,
            native: None,
            model: None,
            dir: None,
            may_write: false,
            transcript_tools: false,
        }
    }
}

impl fmt::Debug for ServedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedModel")
            .field("name", &self.name)
            .field("native", &self.native.is_some())
            .field("model", &self.model)
            .field("dir", &self.dir)
            .field("may_write", &self.may_write)
            .field("transcript_tools", &self.transcript_tools)
            .finish_non_exhaustive()
    }
}

/// Error when a model is not found or not available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelLookupError {
    /// There is no such model.
    #[error("unknown model {name:?}{}", suggestion(.near))]
    Unknown {
        /// The requested name.
        name: String,
        /// Similar names.
        near: Vec<String>,
    },
    /// The model exists but cannot be used.
    #[error("{name} is unavailable: {problem}")]
    Unavailable {
        /// The requested name.
        name: String,
        /// What is missing and how to get it.
        problem: String,
    },
}

fn suggestion(near: &[String]) -> String {
    match near {
        [] => ": GET /v1/models lists all".to_owned(),
        near => format!(": did you mean {}?", near.join(" or ")),
    }
}
