//! From an agent's running totals to what one turn consumed.

use serde::Deserialize;
use serde_json::json;
use windlass_core::Usage;

/// What a session consumed so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RunningTotal {
    /// Tokens read, those from the cache included.
    pub input: u64,
    /// Tokens read from the cache.
    pub cached: u64,
    /// Tokens written to the cache.
    pub written: u64,
    /// Tokens written by the model.
    pub output: u64,
    /// Those of them that were reasoning.
    pub reasoning: u64,
    /// Money.
    pub cost: f64,
}

impl RunningTotal {
    /// What lies between two totals. One that went backwards counts as a fresh start.
    pub fn usage_since(self, before: Self) -> Usage {
        let before = if self.input < before.input || self.output < before.output {
            Self::default()
        } else {
            before
        };
        let input = self.input - before.input;
        let cached = self.cached.saturating_sub(before.cached);
        let reasoning = self.reasoning.saturating_sub(before.reasoning);
        Usage {
            input_tokens: input.saturating_sub(cached),
            output_tokens: self.output - before.output,
            cache_read_tokens: Some(cached),
            cache_write_tokens: Some(self.written.saturating_sub(before.written)),
            cost_usd: None,
            extra: (reasoning > 0).then(|| json!({ "reasoning_tokens": reasoning })),
        }
    }

    /// What lay before the last call, given what that call alone consumed.
    pub fn before(self, last: Self) -> Self {
        Self {
            input: self.input.saturating_sub(last.input),
            cached: self.cached.saturating_sub(last.cached),
            written: self.written.saturating_sub(last.written),
            output: self.output.saturating_sub(last.output),
            reasoning: self.reasoning.saturating_sub(last.reasoning),
            cost: 0.0,
        }
    }
}

/// Token counts as Codex writes them, in either of its spellings. The cached ones are part of the input.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct OpenAiTokens {
    #[serde(alias = "inputTokens")]
    input_tokens: u64,
    #[serde(alias = "cachedInputTokens")]
    cached_input_tokens: u64,
    #[serde(alias = "cacheWriteInputTokens")]
    cache_write_input_tokens: u64,
    #[serde(alias = "outputTokens")]
    output_tokens: u64,
    #[serde(alias = "reasoningOutputTokens")]
    reasoning_output_tokens: u64,
}

impl From<OpenAiTokens> for RunningTotal {
    fn from(tokens: OpenAiTokens) -> Self {
        Self {
            input: tokens.input_tokens,
            cached: tokens.cached_input_tokens,
            written: tokens.cache_write_input_tokens,
            output: tokens.output_tokens,
            reasoning: tokens.reasoning_output_tokens,
            cost: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(input: u64, cached: u64, output: u64) -> RunningTotal {
        RunningTotal {
            input,
            cached,
            output,
            ..RunningTotal::default()
        }
    }

    #[test]
    fn a_turn_is_the_difference_and_the_cache_stands_apart() {
        let usage = total(2400, 2000, 68).usage_since(total(1200, 1000, 34));
        assert_eq!((usage.input_tokens, usage.output_tokens), (200, 34));
        assert_eq!(usage.cache_read_tokens, Some(1000));
    }

    #[test]
    fn a_total_that_went_backwards_is_a_fresh_start() {
        let usage = total(100, 0, 10).usage_since(total(1200, 1000, 34));
        assert_eq!((usage.input_tokens, usage.output_tokens), (100, 10));
    }
}
