//! The budget of a turn, checked before each call of the model. The last step is an answer, so that running out of steps
//! is not an error.

use std::time::Duration;

use windlass_core::{Error, ErrorCode, Usage};
use windlass_wire as wire;

use super::ModelSettings;
use super::prices::Prices;

/// The budget of a turn.
#[derive(Debug, Clone)]
pub(super) struct TurnBudget {
    steps: u32,
    time: Option<Duration>,
    tokens: Option<u64>,
    cost: Option<f64>,
    prices: Option<Prices>,
}

/// What a turn has used of its budget.
#[derive(Debug, Clone, Default)]
pub(super) struct TurnSpend {
    pub(super) steps: u32,
    pub(super) time: Duration,
    /// The sum over all answers, if the provider reports usage.
    pub(super) usage: Option<wire::TokenUsage>,
}

impl TurnSpend {
    /// Adds the usage of one answer.
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

    /// Returns `true` if the budget allows no step after the current one.
    pub(super) fn is_last_step(&self, spend: &TurnSpend) -> bool {
        spend.steps >= self.steps
    }

    /// Returns an error if the budget does not allow another call of the model.
    pub(super) fn exceeded(&self, spend: &TurnSpend) -> Option<Error> {
        let exhausted = |message| Some(Error::agent(ErrorCode::BudgetExceeded, message));
        if let Some(after) = self.time.filter(|limit| spend.time >= *limit) {
            let what = "the turn".to_owned();
            return Some(Error::Timeout { what, after });
        }
        let usage = spend.usage.unwrap_or_default();
        let tokens = usage.total_tokens();
        if let Some(limit) = self.tokens.filter(|limit| tokens >= *limit) {
            return exhausted(format!(
                "not finished after {tokens} tokens of {limit}: raise token_budget, or split the task"
            ));
        }
        let cost = self.prices.map_or(0.0, |prices| prices.cost(&usage));
        if let Some(limit) = self.cost.filter(|limit| cost >= *limit) {
            return exhausted(format!(
                "not finished after ${cost:.4} of ${limit:.4}: raise cost_budget_usd, or split the task"
            ));
        }
        None
    }

    /// Returns the usage of the turn, with its cost if the prices are known.
    pub(super) fn usage(&self, spend: &TurnSpend) -> Option<Usage> {
        let mut usage = to_core_usage(&spend.usage?);
        usage.cost_usd = self
            .prices
            .zip(spend.usage)
            .map(|(prices, usage)| prices.cost(&usage));
        Some(usage)
    }
}

/// Converts the token usage of a model API to [`Usage`], without the cost.
pub(crate) fn to_core_usage(usage: &wire::TokenUsage) -> Usage {
    let cached = usage
        .cache_read_tokens
        .saturating_add(usage.cache_write_tokens);
    let nonzero = |count: u64| (count > 0).then_some(count);
    Usage {
        input_tokens: usage.input_tokens.saturating_sub(cached),
        output_tokens: usage.output_tokens,
        cache_read_tokens: nonzero(usage.cache_read_tokens),
        cache_write_tokens: nonzero(usage.cache_write_tokens),
        cost_usd: None,
        extra: nonzero(usage.reasoning_tokens)
            .map(|tokens| serde_json::json!({ "reasoning_tokens": tokens })),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn exceeded(config: Value, spend: &TurnSpend) -> Option<(ErrorCode, String)> {
        let budget = TurnBudget::new(&ModelSettings::from_value(&config).unwrap());
        let error = budget.exceeded(spend)?;
        Some((error.code(), error.to_string()))
    }

    fn spend(steps: u32, input: u64, output: u64) -> TurnSpend {
        let mut spend = TurnSpend {
            steps,
            ..TurnSpend::default()
        };
        spend.add(wire::TokenUsage {
            input_tokens: input,
            output_tokens: output,
            ..wire::TokenUsage::default()
        });
        spend
    }

    #[test]
    fn p26_each_exhausted_budget_has_its_own_error() {
        let prices = json!({ "cost_budget_usd": 0.01, "input_usd_per_mtok": 5.0, "output_usd_per_mtok": 50.0 });
        let table = [
            (
                json!({ "token_budget": 100 }),
                spend(1, 90, 10),
                "not finished after 100 tokens of 100",
            ),
            (
                prices,
                spend(1, 1000, 100),
                "not finished after $0.0100 of $0.0100",
            ),
        ];
        for (config, spend, expected) in table {
            let (code, message) = exceeded(config, &spend).unwrap();
            assert_eq!(code, ErrorCode::BudgetExceeded);
            assert!(message.starts_with(expected), "{message}");
        }
        let late = TurnSpend {
            time: Duration::from_secs(9),
            ..TurnSpend::default()
        };
        let (code, _) = exceeded(json!({ "timeout_secs": 9 }), &late).unwrap();
        assert_eq!(code, ErrorCode::Timeout);
    }

    #[test]
    fn p26_last_step_is_known() {
        let settings = ModelSettings::from_value(&json!({ "max_steps": 3 })).unwrap();
        let budget = TurnBudget::new(&settings);
        let last = [1, 2, 3].map(|steps| budget.is_last_step(&spend(steps, 1, 1)));
        assert_eq!(last, [false, false, true]);
    }

    #[test]
    fn p26_turn_within_its_budget_continues() {
        let config = json!({ "max_steps": 3, "token_budget": 101, "timeout_secs": 9 });
        assert_eq!(exceeded(config, &spend(2, 90, 10)), None);
    }

    #[test]
    fn cached_tokens_are_counted_separately() {
        let mut spend = TurnSpend::default();
        let budget = TurnBudget::new(&ModelSettings::default());
        assert_eq!(budget.usage(&spend), None);
        spend.add(wire::TokenUsage {
            input_tokens: 100,
            output_tokens: 10,
            cache_read_tokens: 60,
            cache_write_tokens: 10,
            reasoning_tokens: 4,
        });
        let usage = budget.usage(&spend).unwrap();
        assert_eq!((usage.input_tokens, usage.output_tokens), (30, 10));
        assert_eq!(
            (usage.cache_read_tokens, usage.cache_write_tokens),
            (Some(60), Some(10))
        );
        assert_eq!(usage.cost_usd, None);
    }
}
