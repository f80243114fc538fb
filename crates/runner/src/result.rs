//! The result of an attempt.

use serde::{Deserialize, Serialize};

/// The result of one attempt: the four fields of the worker's contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskResult {
    /// The status.
    pub status: ResultStatus,
    /// The changed paths, relative to the project's root.
    pub files_modified: Vec<String>,
    /// The agent's explanation, the question, or a copy of the error.
    pub output: String,
    /// The error, if any. A turn that timed out is `Timeout`; an exhausted budget starts with
    /// `BudgetExhausted`.
    pub error: Option<String>,
}

/// Status of a finished attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResultStatus {
    /// The change passed the tests, or the project is configured to have none.
    Completed,
    /// The attempt failed. The store decides whether another attempt follows.
    Failed,
    /// The attempt needs a person's answer.
    Blocked,
    /// The task was cancelled.
    Cancelled,
    /// The worker stopped and released the attempt.
    Released,
    /// The lease was lost: later writes of this attempt are rejected.
    Superseded,
}

impl ResultStatus {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
            Self::Released => "released",
            Self::Superseded => "superseded",
        }
    }
}

impl std::fmt::Display for ResultStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Limits of one attempt. They are checked before each turn of the agent; the time limit also interrupts a
/// turn.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Budget {
    /// Time from the claim to the end.
    pub wall: Option<std::time::Duration>,
    /// Input and output tokens together, without cached tokens.
    pub tokens: Option<u64>,
    /// Cost in US dollars, if the agent reports it.
    pub cost_usd: Option<f64>,
    /// Turns of the agent, including corrections and repeated answers.
    pub turns: Option<u32>,
}
