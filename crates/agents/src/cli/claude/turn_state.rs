//! State of a turn that its result depends on, in addition to the result line.

use crate::cli::RunningTotal;

/// The state of a turn.
#[derive(Debug)]
pub(super) struct ClaudeTurnState {
    pub(super) quirks: &'static StreamJsonQuirks,
    /// The session's usage before the turn, if known.
    pub(super) before: Option<RunningTotal>,
    /// The error that was sent as an answer.
    pub(super) error_answer: Option<ErrorAnswer>,
}

/// An error formatted as an answer.
#[derive(Debug)]
pub(super) struct ErrorAnswer {
    pub(super) code: String,
    pub(super) text: String,
}

/// How an agent's stream-json differs from Claude's.
#[derive(Debug)]
pub(super) struct StreamJsonQuirks {
    /// The agent's name.
    pub(super) agent: &'static str,
    /// Whether the input tokens include those from the cache.
    pub(super) input_includes_cached: bool,
    /// Whether the tokens at the end of a turn are those of the whole session.
    pub(super) running_total: bool,
    /// Whether a provider's error is at the end of an answer, in brackets.
    pub(super) errors_in_answers: bool,
}

/// Claude itself.
pub(super) const CLAUDE: StreamJsonQuirks = StreamJsonQuirks {
    agent: "claude",
    input_includes_cached: false,
    running_total: false,
    errors_in_answers: false,
};

/// Qwen Code.
pub(super) const QWEN: StreamJsonQuirks = StreamJsonQuirks {
    agent: "qwen",
    input_includes_cached: true,
    running_total: true,
    errors_in_answers: true,
};
