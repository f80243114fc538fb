//! Who can be asked as a model.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use windlass_agents::model::CompletionModel;
use windlass_core::AgentHandle;

/// What can be asked as a model. The program implements it over its configuration.
pub trait ModelCatalog: Send + Sync {
    /// Everyone there is, for the lists of models.
    fn list(&self) -> Vec<ModelInfo>;

    /// Whoever answers to this name.
    fn find(&self, name: &str) -> Result<ServedModel, ModelLookupError>;
}

/// A line in the list of models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// The name to ask for.
    pub id: String,
    /// What stands behind it.
    pub kind: ModelInfoKind,
}

/// What stands behind the name of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelInfoKind {
    /// An agent under its own name.
    Agent,
    /// Another name for an agent, with settings of its own.
    Alias,
    /// Several agents as one.
    Composite,
}

impl ModelInfoKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Alias => "alias",
            Self::Composite => "composite",
        }
    }
}

/// One answerer, ready for a request.
#[derive(Clone)]
pub struct ServedModel {
    /// The agent's name, sent with each answer.
    pub name: String,
    /// The agent, of whatever kind.
    pub agent: AgentHandle,
    /// The same as somebody who takes messages and the caller's tools as they are; `None` for one who takes only text.
    pub native: Option<Arc<dyn CompletionModel>>,
    /// The agent's own model, where the name asked for says one.
    pub model: Option<String>,
    /// Where it works. `None`: in an empty folder of the request's own.
    pub folder: Option<PathBuf>,
    /// Whether it may change files. Otherwise it only looks, whatever is set for the agent.
    pub may_write: bool,
}

impl ServedModel {
    /// An agent that only takes text, reads only, and works in an empty folder.
    pub fn new(name: impl Into<String>, agent: AgentHandle) -> Self {
        Self {
            name: name.into(),
            agent,
            native: None,
            model: None,
            folder: None,
            may_write: false,
        }
    }
}

impl fmt::Debug for ServedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Served")
            .field("name", &self.name)
            .field("native", &self.native.is_some())
            .field("model", &self.model)
            .field("folder", &self.folder)
            .field("may_write", &self.may_write)
            .finish_non_exhaustive()
    }
}

/// Why nobody answers to a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelLookupError {
    /// Nobody has it.
    #[error("there is no model {name:?}{}", suggestion(.near))]
    Unknown {
        /// The name asked for.
        name: String,
        /// Names that are much like it.
        near: Vec<String>,
    },
    /// Somebody has it and cannot be asked.
    #[error("{name} cannot be asked: {problem}")]
    Unavailable {
        /// The name asked for.
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
