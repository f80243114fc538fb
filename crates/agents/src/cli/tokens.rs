//! Converts an agent's running totals into the usage of one turn.

use serde::Deserialize;
use serde_json::json;
use windlass_core::Usage;

/// The total usage of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RunningTotal {
    /// Input tokens, including those from the cache.
    pub input: u64,
    /// Input tokens read from the cache.
    pub cached: u64,
    /// Input tokens written to the cache.
    pub written: u64,
    /// Output tokens.
    pub output: u64,
    /// Output tokens that were reasoning.
    pub reasoning: u64,
    /// Cost in US dollars.
    pub cost: f64,
}

impl RunningTotal {
    /// Returns the difference between two totals. A total that decreased counts as a restart from zero.
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

    /// Returns the total before the last call, given the usage of that call.
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

/// Token counts in Codex's format, in both of its spellings. The cached tokens are part of the input tokens.
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
    fn turn_usage_is_the_difference_without_cached_tokens() {
        let usage = total(2400, 2000, 68).usage_since(total(1200, 1000, 34));
        assert_eq!((usage.input_tokens, usage.output_tokens), (200, 34));
        assert_eq!(usage.cache_read_tokens, Some(1000));
    }

    #[test]
    fn decreased_total_counts_from_zero() {
        let usage = total(100, 0, 10).usage_since(total(1200, 1000, 34));
        assert_eq!((usage.input_tokens, usage.output_tokens), (100, 10));
    }
}
