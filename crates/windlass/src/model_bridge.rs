//! The bridge of this process, as the configuration sets it.

use serde_json::Number;
use windlass_bridge::{Bridge, CallPolicy, MeterSettings, ModelPrices};
use windlass_core::Masker;
use windlass_tasks::{SpendLimit, SpendScope};

use crate::config::{Config, PriceKeys};

/// Billionths of a dollar.
const NANOS: f64 = 1e9;

/// Creates the bridge through which agents call their models.
pub(crate) fn create(config: &Config, masker: Masker) -> Bridge {
    let prices = config.prices.iter();
    let prices = prices.filter_map(|(model, prices)| Some((model.clone(), model_prices(prices)?)));
    Bridge::new(MeterSettings {
        prices: prices.collect(),
        limits: limits(config),
        policy: policy(config, masker),
    })
}

fn policy(config: &Config, masker: Masker) -> CallPolicy {
    let policy = &config.policy;
    CallPolicy {
        models: policy.models.clone().unwrap_or_default(),
        max_output_tokens: policy.max_output_tokens.map(u64::from),
        refuses_provider_tools: !policy.provider_tools,
        masker: policy.mask_secrets.then_some(masker),
    }
}

fn number(number: Option<&Number>) -> Option<f64> {
    number.and_then(Number::as_f64)
}

/// Returns the prices of a model. Without both prices they are unknown.
fn model_prices(keys: &PriceKeys) -> Option<ModelPrices> {
    Some(ModelPrices {
        input: number(keys.input.as_ref())?,
        output: number(keys.output.as_ref())?,
        cache_read: number(keys.cache_read.as_ref()),
        cache_write: number(keys.cache_write.as_ref()),
        max_output: keys.max_output.map(u64::from),
    })
}

fn limits(config: &Config) -> Vec<SpendLimit> {
    let spending = &config.spending;
    let limit = |scope: SpendScope| {
        let dollars = match scope {
            SpendScope::Call => &spending.call_usd,
            SpendScope::Attempt => &spending.attempt_usd,
            SpendScope::Task => &spending.task_usd,
            SpendScope::Agent => &spending.agent_usd,
            SpendScope::Project => &spending.project_usd,
            SpendScope::Person => &spending.person_usd,
            SpendScope::Day => &spending.day_usd,
        };
        #[expect(clippy::cast_possible_truncation, reason = "at most a million dollars")]
        let nanos = (number(dollars.as_ref())? * NANOS).round() as i64;
        Some(SpendLimit { scope, nanos })
    };
    SpendScope::ALL.into_iter().filter_map(limit).collect()
}
