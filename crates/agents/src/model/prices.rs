//! What tokens cost.

use windlass_wire as wire;

/// Token prices, in dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// Price of input tokens. It also applies to cached tokens, so the cost is an upper bound.
    pub input: f64,
    /// Price of output tokens.
    pub output: f64,
}

impl Prices {
    #[expect(
        clippy::cast_precision_loss,
        reason = "token counts are far below 2^52"
    )]
    pub(super) fn cost(&self, usage: &wire::TokenUsage) -> f64 {
        let cost = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        cost(usage.input_tokens, self.input) + cost(usage.output_tokens, self.output)
    }
}
