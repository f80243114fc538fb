//! Usage of model calls.

use utoipa::ToSchema;

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum UsageKey {
    Model,
    Agent,
    Task,
    Project,
    Person,
    Account,
    Day,
}

/// The model calls of one agent, model, day or other value. Tokens and cost are those that are known.
#[derive(ToSchema)]
pub(crate) struct UsageRow {
    /// `null` for calls without one.
    #[schema(required)]
    key: Option<String>,
    calls: u64,
    /// All input tokens.
    input_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    /// All output tokens.
    output_tokens: u64,
    reasoning_tokens: u64,
    calls_with_unknown_tokens: u64,
    cost_usd: f64,
    calls_with_unknown_cost: u64,
    /// The number of calls that failed, or were interrupted.
    calls_not_done: u64,
    /// The time of all calls, summed.
    seconds: f64,
    #[schema(nullable = false)]
    reported_by_agent: Option<ReportedTokens>,
}

/// The tokens that the agents of a task report.
#[derive(ToSchema)]
pub(crate) struct ReportedTokens {
    input_tokens: u64,
    output_tokens: u64,
}
