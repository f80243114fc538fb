//! What model calls cost. The price of a model that is in no table is unknown, never zero.

use std::collections::BTreeMap;

use serde::Deserialize;
use windlass_tasks::CallTokens;

use crate::request_facts::RequestFacts;

/// The prices that come with this program.
const BUILT_IN: &str = include_str!("../prices.toml");
/// The limit of an answer of a model whose limit is unknown.
const DEFAULT_MAX_OUTPUT: u64 = 200_000;
/// Billionths of a dollar for one token, at a price of one dollar per million tokens.
const NANOS: f64 = 1_000.0;

/// The prices of one model, in dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct ModelPrices {
    /// Input tokens that are not from the cache.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Input tokens that are read from the cache. By default they cost as much as other input.
    pub cache_read: Option<f64>,
    /// Input tokens that are written to the cache. By default they cost as much as other input.
    pub cache_write: Option<f64>,
    /// The most output tokens of an answer.
    pub max_output: Option<u64>,
}

#[derive(Default, Deserialize)]
struct PriceFile {
    date: String,
    source: Vec<PriceSource>,
}

#[derive(Deserialize)]
struct PriceSource {
    models: Vec<NamedPrices>,
}

#[derive(Deserialize)]
struct NamedPrices {
    name: String,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    max_output: Option<u64>,
}

/// Prices by the names of models.
#[derive(Debug, Clone, Default)]
pub struct PriceTable {
    date: String,
    models: BTreeMap<String, ModelPrices>,
}

impl PriceTable {
    /// Returns the prices that come with this program, with these in addition or instead.
    pub fn with(own: impl IntoIterator<Item = (String, ModelPrices)>) -> Self {
        // A test reads the file; without it all prices would be unknown.
        let file: PriceFile = toml::from_str(BUILT_IN).unwrap_or_default();
        let models = file.source.into_iter().flat_map(|source| source.models);
        let mut models: BTreeMap<String, ModelPrices> = models
            .map(|named| {
                let prices = ModelPrices {
                    input: named.input,
                    output: named.output,
                    cache_read: named.cache_read,
                    cache_write: named.cache_write,
                    max_output: named.max_output,
                };
                (named.name, prices)
            })
            .collect();
        models.extend(own);
        let date = file.date;
        Self { date, models }
    }

    /// Returns the date of the built-in prices.
    pub fn date(&self) -> &str {
        &self.date
    }

    /// Returns the prices of a model. The name may have a provider in front and a date at its end.
    pub fn get(&self, model: &str) -> Option<&ModelPrices> {
        let short = model.rsplit('/').next().unwrap_or(model);
        let plain = [model, short, without_date(short)];
        plain.into_iter().find_map(|name| self.models.get(name))
    }

    /// Returns the cost of these tokens in billionths of a dollar.
    pub(crate) fn cost_nanos(&self, model: Option<&str>, tokens: &CallTokens) -> Option<i64> {
        let prices = self.get(model?)?;
        let cached = tokens.cache_read.saturating_add(tokens.cache_write);
        let fresh = tokens.input.saturating_sub(cached);
        let parts = [
            (fresh, prices.input),
            (tokens.cache_read, prices.cache_read.unwrap_or(prices.input)),
            (
                tokens.cache_write,
                prices.cache_write.unwrap_or(prices.input),
            ),
            (tokens.output, prices.output),
        ];
        sum_nanos(parts)
    }

    /// Returns the most that a call can cost in billionths of a dollar.
    pub(crate) fn max_nanos(&self, request: &RequestFacts) -> Option<i64> {
        let prices = self.get(request.model.as_deref()?)?;
        let input = prices.input.max(prices.cache_write.unwrap_or(0.0));
        let model_limit = prices.max_output.unwrap_or(DEFAULT_MAX_OUTPUT);
        let output = request.max_output.unwrap_or(model_limit);
        sum_nanos([(request.bytes, input), (output, prices.output)])
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "token counts and costs are far below 2^52"
)]
fn sum_nanos<const N: usize>(parts: [(u64, f64); N]) -> Option<i64> {
    let nanos: f64 = parts
        .into_iter()
        .map(|(tokens, price)| tokens as f64 * price * NANOS)
        .sum();
    (nanos.is_finite() && nanos >= 0.0 && nanos < 9e18).then(|| nanos.round() as i64)
}

/// Returns the name without a date or `-latest` at its end.
fn without_date(name: &str) -> &str {
    if let Some(plain) = name.strip_suffix("-latest") {
        return plain;
    }
    let is_date_part = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let mut plain = name;
    for lengths in [&[8_usize][..], &[2, 2, 4]] {
        let mut rest = name;
        let matches = lengths.iter().all(|length| match rest.rsplit_once('-') {
            Some((before, part)) if part.len() == *length && is_date_part(part) => {
                rest = before;
                true
            }
            _ => false,
        });
        if matches {
            plain = rest;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_provider_and_date_are_found() {
        let table = PriceTable::with([]);
        assert!(!table.date().is_empty());
        for name in [
            "gpt-5",
            "openai/gpt-5",
            "gpt-4o-2024-08-06",
            "claude-sonnet-4-5-20250929",
            "claude-3-5-haiku-latest",
        ] {
            assert!(table.get(name).is_some(), "{name}");
        }
        for name in ["", "gpt-6", "gpt-5-turbo", "gpt", "claude-sonnet-4-5-2025"] {
            assert!(table.get(name).is_none(), "{name}");
        }
        assert_ne!(table.get("gpt-4.1-mini"), table.get("gpt-4.1"));
    }

    #[test]
    fn cost_counts_each_kind_of_tokens_once() {
        let own = ModelPrices {
            input: 3.0,
            output: 15.0,
            cache_read: Some(0.3),
            cache_write: Some(3.75),
            max_output: Some(1_000),
        };
        let table = PriceTable::with([("m".to_owned(), own)]);
        let tokens = CallTokens {
            input: 1_000,
            cache_read: 600,
            cache_write: 100,
            output: 50,
            reasoning: 20,
        };
        // 300 × 3 + 600 × 0.3 + 100 × 3.75 + 50 × 15, in millionths of a dollar.
        assert_eq!(table.cost_nanos(Some("m"), &tokens), Some(2_205_000));
        assert_eq!(table.cost_nanos(Some("unknown"), &tokens), None);
        assert_eq!(table.cost_nanos(None, &tokens), None);
        let request = RequestFacts {
            dialect: None,
            model: Some("m".to_owned()),
            max_output: None,
            bytes: 100,
        };
        assert_eq!(
            table.max_nanos(&request),
            Some(100 * 3_750 + 1_000 * 15_000)
        );
    }
}
