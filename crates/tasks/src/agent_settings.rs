//! Settings of an agent for one task.

use serde::{Deserialize, Serialize};

/// Settings of the agent that apply to one task, instead of those in the configuration. They are stored with the task,
/// so that every attempt, in whatever process, uses the same model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSettings {
    /// The address of the model's server. It never contains a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The maximum number of model calls in one turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// The idle timeout of a model request, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_timeout_secs: Option<u64>,
}

impl AgentSettings {
    /// Returns `true` if nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
