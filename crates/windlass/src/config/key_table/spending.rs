//! Keys of what agents may spend on model calls, and of the prices of models.

use serde_json::Number;

use super::{KeySpec, settings};
use crate::config::value_type::*;

settings! {
    /// Limits on the cost of model calls, in US dollars. A call that may exceed one is refused.
    #[derive(Default)]
    pub struct SpendSettings at "spending." {
        /// Maximum cost of one model call, in US dollars. Limits apply to agents that call their models through the bridge, and
        /// refuse models with an unknown price.
        call_usd: Option<Number> as Amount<1_000_000>;
        /// Maximum cost of one attempt at a task.
        attempt_usd: Option<Number> as Amount<1_000_000>;
        /// Maximum cost of one task.
        task_usd: Option<Number> as Amount<1_000_000>;
        /// Maximum cost of one agent on one day. Days are those of UTC.
        agent_usd: Option<Number> as Amount<1_000_000>;
        /// Maximum cost of one project on one day.
        project_usd: Option<Number> as Amount<1_000_000>;
        /// Maximum cost of one person on one day.
        person_usd: Option<Number> as Amount<1_000_000>;
        /// Maximum cost of all calls on one day.
        day_usd: Option<Number> as Amount<1_000_000>;
    }
}

settings! {
    /// Prices of one model, in US dollars for a million tokens.
    #[derive(Default)]
    pub struct PriceKeys at "prices.<model>." {
        /// Price of a million input tokens, in US dollars. It replaces the built-in price of the model.
        input: Option<Number> as Amount<100_000>;
        /// Price of a million output tokens, in US dollars.
        output: Option<Number> as Amount<100_000>;
        /// Price of a million input tokens that are read from the cache; that of other input by default.
        cache_read: Option<Number> as Amount<100_000>;
        /// Price of a million input tokens that are written to the cache; that of other input by default.
        cache_write: Option<Number> as Amount<100_000>;
        /// Maximum number of output tokens of an answer, which a call without a limit of its own reserves.
        max_output: Option<u32> as Count<1, 10_000_000>;
    }
}
