//! What a turn may spend, looked at before each call of the model.

use std::time::Duration;

use windlass_core::{Error, ErrorCode, Usage};
use windlass_wire as wire;

use super::ModelSettings;

/// What tokens cost, in dollars per million.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// Those that are read, from the cache or not: the most that they can cost.
    pub input: f64,
    /// Those that are written.
    pub output: f64,
}

impl Prices {
    #[expect(clippy::cast_precision_loss, reason = "nobody has 2^52 tokens")]
    pub(super) fn cost(&self, usage: &wire::TokenUsage) -> f64 {
        let of = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        of(usage.input_tokens, self.input) + of(usage.output_tokens, self.output)
    }
}

/// What a turn may spend.
#[derive(Debug, Clone)]
pub(super) struct TurnBudget {
    steps: u32,
    time: Option<Duration>,
    tokens: Option<u64>,
    cost: Option<f64>,
    prices: Option<Prices>,
}

/// What a turn has spent.
#[derive(Debug, Clone, Default)]
pub(super) struct TurnSpend {
    pub(super) steps: u32,
    pub(super) time: Duration,
    /// All answers together, where the provider counts.
    pub(super) usage: Option<wire::TokenUsage>,
}

impl TurnSpend {
    /// Adds what one answer took.
    pub(super) fn add(&mut self, more: wire::TokenUsage) {
        let sum = self.usage.get_or_insert_default();
        sum.input_tokens = sum.input_tokens.saturating_add(more.input_tokens);
        sum.output_tokens = sum.output_tokens.saturating_add(more.output_tokens);
        sum.cache_read_tokens = sum.cache_read_tokens.saturating_add(more.cache_read_tokens);
        sum.cache_write_tokens = sum
            .cache_write_tokens
            .saturating_add(more.cache_write_tokens);
        sum.reasoning_tokens = sum.reasoning_tokens.saturating_add(more.reasoning_tokens);
    }
}

impl TurnBudget {
    pub(super) fn new(settings: &ModelSettings) -> Self {
        Self {
            steps: settings.max_steps,
            time: settings.timeout(),
            tokens: settings.token_budget,
            cost: settings.cost_budget_usd,
            prices: settings.prices(),
        }
    }

    /// Why the model may not be called once more, if it may not.
    pub(super) fn exceeded(&self, spent: &TurnSpend) -> Option<Error> {
        let used_up = |message| Some(Error::agent(ErrorCode::BudgetExceeded, message));
        if spent.steps >= self.steps {
            let steps = self.steps;
            return used_up(format!(
                "not finished after {steps} steps: raise max_steps, or ask for less at once"
            ));
        }
        if let Some(after) = self.time.filter(|limit| spent.time >= *limit) {
            let what = "the turn".to_owned();
            return Some(Error::Timeout { what, after });
        }
        let usage = spent.usage.unwrap_or_default();
        let tokens = usage.total_tokens();
        if let Some(limit) = self.tokens.filter(|limit| tokens >= *limit) {
            return used_up(format!(
                "not finished after {tokens} tokens of {limit}: raise token_budget, or ask for less at once"
            ));
        }
        let cost = self.prices.map_or(0.0, |prices| prices.cost(&usage));
        if let Some(limit) = self.cost.filter(|limit| cost >= *limit) {
            return used_up(format!(
                "not finished after ${cost:.4} of ${limit:.4}: raise cost_budget_usd, or ask for less at once"
            ));
        }
        None
    }

    /// What was spent, in the words of events.
    pub(super) fn usage(&self, spent: &TurnSpend) -> Option<Usage> {
        let mut usage = to_core_usage(&spent.usage?);
        usage.cost_usd = self
            .prices
            .zip(spent.usage)
            .map(|(prices, usage)| prices.cost(&usage));
        Some(usage)
    }
}

/// Tokens as a model API counts them, in the words of events. What they cost is not known.
pub(crate) fn to_core_usage(usage: &wire::TokenUsage) -> Usage {
    let cached = usage
        .cache_read_tokens
        .saturating_add(usage.cache_write_tokens);
    let some = |count: u64| (count > 0).then_some(count);
    Usage {
        input_tokens: usage.input_tokens.saturating_sub(cached),
        output_tokens: usage.output_tokens,
        cache_read_tokens: some(usage.cache_read_tokens),
        cache_write_tokens: some(usage.cache_write_tokens),
        cost_usd: None,
        extra: some(usage.reasoning_tokens)
            .map(|tokens| serde_json::json!({ "reasoning_tokens": tokens })),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn refused(config: Value, spent: &TurnSpend) -> Option<(ErrorCode, String)> {
        let budget = TurnBudget::new(&ModelSettings::from_value(&config).unwrap());
        let error = budget.exceeded(spent)?;
        Some((error.code(), error.to_string()))
    }

    fn spent(steps: u32, input: u64, output: u64) -> TurnSpend {
        let mut spent = TurnSpend {
            steps,
            ..TurnSpend::default()
        };
        spent.add(wire::TokenUsage {
            input_tokens: input,
            output_tokens: output,
            ..wire::TokenUsage::default()
        });
        spent
    }

    #[test]
    fn p26_each_budget_ends_with_its_own_words() {
        let prices = json!({ "cost_budget_usd": 0.01, "input_usd_per_mtok": 5.0, "output_usd_per_mtok": 50.0 });
        let table = [
            (
                json!({ "max_steps": 3 }),
                spent(3, 1, 1),
                "not finished after 3 steps",
            ),
            (
                json!({ "token_budget": 100 }),
                spent(1, 90, 10),
                "not finished after 100 tokens of 100",
            ),
            (
                prices,
                spent(1, 1000, 100),
                "not finished after $0.0100 of $0.0100",
            ),
        ];
        for (config, spent, said) in table {
            let (code, message) = refused(config, &spent).unwrap();
            assert_eq!(code, ErrorCode::BudgetExceeded);
            assert!(message.starts_with(said), "{message}");
        }
        let late = TurnSpend {
            time: Duration::from_secs(9),
            ..TurnSpend::default()
        };
        let (code, _) = refused(json!({ "timeout_secs": 9 }), &late).unwrap();
        assert_eq!(code, ErrorCode::Timeout);
    }

    #[test]
    fn p26_within_its_budget_nothing_is_refused() {
        let config = json!({ "max_steps": 3, "token_budget": 101, "timeout_secs": 9 });
        assert_eq!(refused(config, &spent(2, 90, 10)), None);
    }

    #[test]
    fn cached_tokens_are_told_apart() {
        let mut spent = TurnSpend::default();
        let budget = TurnBudget::new(&ModelSettings::default());
        assert_eq!(budget.usage(&spent), None);
        spent.add(wire::TokenUsage {
            input_tokens: 100,
            output_tokens: 10,
            cache_read_tokens: 60,
            cache_write_tokens: 10,
            reasoning_tokens: 4,
        });
        let usage = budget.usage(&spent).unwrap();
        assert_eq!((usage.input_tokens, usage.output_tokens), (30, 10));
        assert_eq!(
            (usage.cache_read_tokens, usage.cache_write_tokens),
            (Some(60), Some(10))
        );
        assert_eq!(usage.cost_usd, None);
    }
}
