//! Tokens and cost of a turn.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The tokens and the cost of one turn, never a running total.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens the model read, excluding those from the cache.
    pub input_tokens: u64,
    /// Tokens the model wrote.
    pub output_tokens: u64,
    /// Tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Tokens written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// The cost in US dollars, if the agent reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Other counters from the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Value>,
}

impl std::ops::AddAssign<&Usage> for Usage {
    /// Adds the usage of another turn. `extra` is specific to an agent and is not added.
    fn add_assign(&mut self, other: &Usage) {
        fn add<T: std::ops::Add<Output = T>>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            }
        }
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cache_read_tokens = add(self.cache_read_tokens, other.cache_read_tokens);
        self.cache_write_tokens = add(self.cache_write_tokens, other.cache_write_tokens);
        self.cost_usd = add(self.cost_usd, other.cost_usd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_keeps_the_difference_between_none_and_zero() {
        let mut sum = Usage {
            input_tokens: 1,
            cost_usd: Some(0.5),
            ..Usage::default()
        };
        sum += &Usage {
            input_tokens: 2,
            cache_read_tokens: Some(0),
            ..Usage::default()
        };
        assert_eq!(sum.input_tokens, 3);
        assert_eq!(sum.cache_read_tokens, Some(0));
        assert_eq!(sum.cache_write_tokens, None);
        assert_eq!(sum.cost_usd, Some(0.5));
    }
}
