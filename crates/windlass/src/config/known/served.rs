//! The keys of agents made of others, and of those that are served as models.

use super::{Kind, Known};

/// Why a fallback asks its next node.
const CAUSES: &[&str] = &[
    "rate_limited",
    "unavailable",
    "timeout",
    "auth_failed",
    "session_orphaned",
    "backend_error",
    "tool_failed",
    "permission_denied",
    "output_limit",
    "budget_exceeded",
];

/// Their rows.
pub(super) const ROWS: &[Known] = &[
    Known::new(
        "composites.<name>.kind",
        Kind::Choice(&["single", "fallback", "plan_execute"]),
        "What makes one agent of several, called `composite/profile/<name>`: one under another name (single), the first that can answer (fallback), or one that plans and one that carries the plan out (plan_execute).",
    ),
    Known::new(
        "composites.<name>.nodes",
        Kind::List,
        "The agents that it is made of, by name and in order; `agent/model` and composites too.",
    ),
    Known::new(
        "composites.<name>.on",
        Kind::Choices(CAUSES),
        "The failures after which a `fallback` asks the next node; by default rate_limited, unavailable, timeout, auth_failed, session_orphaned and backend_error.",
    ),
    Known::new(
        "composites.<name>.cool_down_secs",
        Kind::Seconds,
        "How long a node of a `fallback` that failed so is asked only if no other can, where its provider does not say how long to wait; 60 by default.",
    ),
    Known::new(
        "composites.<name>.timeout_secs",
        Kind::Seconds,
        "How long one turn may take; without it, as long as its nodes may one after the other.",
    )
    .harmless(),
    Known::new(
        "model_list.<alias>.agent",
        Kind::Name,
        "The agent that answers where a client asks the gateway for the model of this name.",
    ),
    Known::new(
        "model_list.<alias>.model",
        Kind::Text,
        "The model that this agent is to use, in its own words.",
    ),
    Known::new(
        "model_list.<alias>.folder",
        Kind::Text,
        "Where the agent works; without it, in an empty repository that is made for each request.",
    ),
    Known::new(
        "model_list.<alias>.permissions",
        Kind::Choice(&["allow", "deny"]),
        "What the agent may do there without asking: all that its walls allow, or only look (deny, the default).",
    ),
    Known::new(
        "gateway.concurrency",
        Kind::Count,
        "How many requests the gateway works on at a time; the next ones are told to come again.",
    )
    .or("32"),
];
