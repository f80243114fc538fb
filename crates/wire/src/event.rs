//! The events of a model's response.

use serde::{Deserialize, Serialize};

use crate::{ModelError, Opaque, ToolInputKind};

/// One event of a response.
///
/// A complete response is `Start`, then the content, then `Usage` and `Stop`, and last `Done` or `Error`.
/// Consecutive deltas of one kind form one part. Calls are distinguished by their index, counted from 0 in
/// order of appearance, because their arguments may arrive interleaved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelEvent {
    /// The response starts.
    Start {
        /// The provider's id of the response; empty with Ollama.
        id: String,
        /// The model that actually responds.
        model: String,
    },
    /// More text.
    TextDelta {
        /// The text to append.
        text: String,
    },
    /// More reasoning.
    ReasoningDelta {
        /// The text to append.
        text: String,
    },
    /// Reasoning ends, with the blob that the provider requires back. Omitted if there is no blob.
    ReasoningEnd {
        /// The blob, if any.
        signature: Option<String>,
        /// `true` if the text was withheld. Such reasoning is a separate part and does not end the one before
        /// it.
        redacted: bool,
    },
    /// A call starts.
    ToolCallStart {
        /// The index of the call in the response.
        index: usize,
        /// The id that the call's result must refer to.
        id: String,
        /// The tool.
        name: String,
        /// The kind of input.
        kind: ToolInputKind,
        /// A blob that the provider requires back with the call.
        signature: Option<String>,
    },
    /// More of a call's input.
    ToolCallDelta {
        /// The index of the call in the response.
        index: usize,
        /// The text to append.
        input: String,
    },
    /// A call is complete.
    ToolCallEnd {
        /// The index of the call in the response.
        index: usize,
    },
    /// A value that only its own API understands.
    Opaque(Opaque),
    /// The usage so far; a later event replaces an earlier one.
    Usage(TokenUsage),
    /// The reason why the model stopped.
    Stop {
        /// The reason.
        reason: StopReason,
    },
    /// The response failed. Terminal event.
    Error(ModelError),
    /// The response is complete. Terminal event.
    Done,
}

impl ModelEvent {
    /// Returns `true` if no event may follow.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Error(_) | Self::Done)
    }
}

/// The reason why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The response is complete.
    EndTurn,
    /// The model waits for the results of its calls.
    ToolUse,
    /// The model reached the token limit.
    MaxTokens,
    /// The model wrote one of the stop sequences.
    StopSequence,
    /// The model or a filter refused to respond.
    Refusal,
    /// The model paused during long work and expects another request.
    Pause,
}

/// The token usage of a response.
///
/// Input counts include tokens read from and written to the cache, output counts include reasoning, however
/// the API itself counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUsage {
    /// All input tokens.
    pub input_tokens: u64,
    /// All output tokens.
    pub output_tokens: u64,
    /// Input tokens read from the cache.
    pub cache_read_tokens: u64,
    /// Input tokens written to the cache.
    pub cache_write_tokens: u64,
    /// Output tokens used for reasoning.
    pub reasoning_tokens: u64,
}

impl TokenUsage {
    /// Raises totals that are lower than their parts. A provider may report more cached than input tokens; APIs that
    /// count the parts separately could not return such totals.
    pub(crate) fn with_consistent_totals(mut self) -> Self {
        let cached = self
            .cache_read_tokens
            .saturating_add(self.cache_write_tokens);
        self.input_tokens = self.input_tokens.max(cached);
        self.output_tokens = self.output_tokens.max(self.reasoning_tokens);
        self
    }

    /// Returns the sum of input and output tokens.
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// Gives an id to each call that the server sent without one: the result of a call is found by its id.
pub(crate) fn name_calls(events: &mut [ModelEvent]) {
    for event in events {
        if let ModelEvent::ToolCallStart { index, id, .. } = event
            && id.is_empty()
        {
            *id = format!("call_{index}");
        }
    }
}
