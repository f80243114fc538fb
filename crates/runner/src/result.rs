//! What became of an attempt, as its caller is told.

use serde::{Deserialize, Serialize};

/// The result of one attempt: the four fields of the worker's contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskResult {
    /// How it ended.
    pub status: ResultStatus,
    /// The changed paths, relative to the project's root.
    pub files_modified: Vec<String>,
    /// What was changed and why, the question, or the error once more.
    pub output: String,
    /// What went wrong, where something did. A turn that took too long is `Timeout`; a budget that is used up
    /// begins with `BudgetExhausted`.
    pub error: Option<String>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResultStatus {
    /// The change passed, or the project expressly has no tests.
    Completed,
    /// It failed. The store decides whether another attempt follows.
    Failed,
    /// It needs a person's answer.
    Blocked,
    /// Somebody asked for it to stop.
    Cancelled,
    /// The worker stopped, and gave the attempt back.
    Released,
    /// The lease was lost: whatever this attempt would still write counts for nothing.
    Superseded,
}

impl ResultStatus {
    /// The name as it appears in JSON.
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

/// How an attempt consumes no more than it may. Checked before each call of an agent; time also between.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Budget {
    /// From the claim to the end.
    pub wall: Option<std::time::Duration>,
    /// Tokens read and written together, those of the cache not counted.
    pub tokens: Option<u64>,
    /// Money, where the agent says what it costs.
    pub cost_usd: Option<f64>,
    /// Turns of the agent, corrections and repeated answers included.
    pub turns: Option<u32>,
}
