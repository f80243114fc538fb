//! What a model answers, piece by piece.

use serde::{Deserialize, Serialize};

use crate::{ModelError, Opaque, ToolInputKind};

/// A piece of an answer.
///
/// A whole answer is `Start`, then the content, then `Usage` and `Stop`, then `Done` or `Error` as the last. Deltas of one kind that
/// follow one another are one part. Calls are told apart by their index, counted from 0 in order of appearance, since their
/// arguments may arrive interleaved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelEvent {
    /// The answer begins.
    Start {
        /// The provider's name for this answer; empty where it gives none, as Ollama does.
        id: String,
        /// The model that really answers.
        model: String,
    },
    /// More words.
    TextDelta {
        /// What to append.
        text: String,
    },
    /// More thought.
    ReasoningDelta {
        /// What to append.
        text: String,
    },
    /// A thought ends with what the provider wants back; left out where there is nothing of the kind.
    ReasoningEnd {
        /// The blob, if any.
        signature: Option<String>,
        /// Whether the text was withheld; such a thought stands alone and does not end the one before it.
        redacted: bool,
    },
    /// A call begins.
    ToolCallStart {
        /// Which of the answer's calls.
        index: usize,
        /// What its result must refer to.
        id: String,
        /// The tool.
        name: String,
        /// How the input is written.
        kind: ToolInputKind,
        /// A blob the provider wants back with the call.
        signature: Option<String>,
    },
    /// More of a call's input.
    ToolCallDelta {
        /// Which of the answer's calls.
        index: usize,
        /// What to append.
        input: String,
    },
    /// A call is complete.
    ToolCallEnd {
        /// Which of the answer's calls.
        index: usize,
    },
    /// Something that only its own API understands.
    Opaque(Opaque),
    /// What has been consumed so far; a later one replaces an earlier one.
    Usage(TokenUsage),
    /// Why the model stopped.
    Stop {
        /// The reason.
        reason: StopReason,
    },
    /// It failed; nothing follows.
    Error(ModelError),
    /// It is complete; nothing follows.
    Done,
}

impl ModelEvent {
    /// Whether nothing may follow.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Error(_) | Self::Done)
    }
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// It had said everything.
    EndTurn,
    /// It waits for the results of its calls.
    ToolUse,
    /// It reached the limit on tokens.
    MaxTokens,
    /// It wrote one of the texts that end the answer.
    StopSequence,
    /// It, or a filter, would not say it.
    Refusal,
    /// It paused in a long piece of work and wants to be asked again.
    Pause,
}

/// The tokens an answer took.
///
/// Inputs include those from and to the cache, outputs include reasoning, whatever the API's own way to count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUsage {
    /// All tokens read.
    pub input_tokens: u64,
    /// All tokens written.
    pub output_tokens: u64,
    /// Of those read, how many came from the cache.
    pub cache_read_tokens: u64,
    /// Of those read, how many were put into the cache.
    pub cache_write_tokens: u64,
    /// Of those written, how many were thought.
    pub reasoning_tokens: u64,
}

impl TokenUsage {
    /// Read and written together.
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}
