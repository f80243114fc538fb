//! The rows of a usage report, as they are shown.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass_core::{Timestamp, Usage};

use crate::{Attempt, ProjectId, UsageKey, UsageTotal};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// Billionths of a dollar.
const NANOS: f64 = 1e9;

/// One row. Tokens and cost are those that are known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsageRow {
    /// The model, agent or other value. `None` for calls without one.
    pub key: Option<String>,
    /// The number of calls that were sent.
    pub calls: u64,
    /// All input tokens.
    pub input_tokens: u64,
    /// Input tokens that were read from a cache.
    pub cache_read_tokens: u64,
    /// Input tokens that were written to a cache.
    pub cache_write_tokens: u64,
    /// All output tokens.
    pub output_tokens: u64,
    /// Output tokens used for reasoning.
    pub reasoning_tokens: u64,
    /// The number of calls whose tokens are unknown.
    pub calls_with_unknown_tokens: u64,
    /// The cost.
    pub cost_usd: f64,
    /// The number of calls whose cost is unknown.
    pub calls_with_unknown_cost: u64,
    /// The number of calls that failed, or were interrupted.
    pub calls_not_done: u64,
    /// The time of all calls, summed.
    pub seconds: f64,
    /// What the agents themselves say that a task used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported_by_agent: Option<ReportedTokens>,
}

/// The tokens that agents report. The input includes cached tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ReportedTokens {
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
}

impl UsageRow {
    /// Returns the row of a total, with the names of projects and the dates of days.
    #[expect(clippy::cast_precision_loss, reason = "dollars with nine digits")]
    pub fn new(by: UsageKey, total: UsageTotal, projects: &BTreeMap<ProjectId, String>) -> Self {
        let key = total.key.map(|key| match by {
            UsageKey::Day => date(&key).unwrap_or(key),
            UsageKey::Project => {
                let known = key.parse().ok().and_then(|id: ProjectId| projects.get(&id));
                known.cloned().unwrap_or(key)
            }
            _ => key,
        });
        Self {
            key,
            calls: total.calls,
            input_tokens: total.tokens.input,
            cache_read_tokens: total.tokens.cache_read,
            cache_write_tokens: total.tokens.cache_write,
            output_tokens: total.tokens.output,
            reasoning_tokens: total.tokens.reasoning,
            calls_with_unknown_tokens: total.unknown_tokens,
            cost_usd: total.cost_nanos as f64 / NANOS,
            calls_with_unknown_cost: total.unknown_cost,
            calls_not_done: total.not_done,
            seconds: total.duration.as_secs_f64(),
            reported_by_agent: None,
        }
    }
}

impl ReportedTokens {
    /// Returns what the agents of these attempts report, if they report anything.
    pub fn of(attempts: &[Attempt]) -> Option<Self> {
        let mut total = Usage::default();
        for attempt in attempts {
            total += &attempt.usage;
        }
        let cached = total.cache_read_tokens.unwrap_or(0) + total.cache_write_tokens.unwrap_or(0);
        let reported = Self {
            input_tokens: total.input_tokens + cached,
            output_tokens: total.output_tokens,
        };
        (reported.input_tokens + reported.output_tokens > 0).then_some(reported)
    }
}

/// Returns the date of a day since 1970.
fn date(number: &str) -> Option<String> {
    let milliseconds = number.parse::<u64>().ok()?.checked_mul(DAY_MS)?;
    Some(Timestamp(milliseconds).utc_day())
}
