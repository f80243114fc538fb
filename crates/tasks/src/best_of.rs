//! Tasks that several candidates work on, of which the best one is chosen.

use serde::{Deserialize, Serialize};

/// The maximum number of candidates of a task.
pub const MAX_CANDIDATES: usize = 8;

/// How the best candidate of a task is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BestOf {
    /// The agents of the candidates, one for each. `None` selects the configured agent.
    pub agents: Vec<Option<String>>,
    /// The first candidate with a proof without warnings is chosen; the others stop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first: bool,
    /// The agent that chooses among the candidates with a proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
    /// What the judge should look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rubric: Option<String>,
}
