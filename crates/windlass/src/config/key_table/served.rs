//! The keys of agents made of others, and of those that are served as models.

use super::{KeySpec, ValueKind};

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
pub(super) const ROWS: &[KeySpec] = &[
    KeySpec::new(
        "composites.<name>.kind",
        ValueKind::Choice(&["single", "fallback", "plan_execute"]),
        "What makes one agent of several, called `composite/profile/<name>`: one under another name (single), the first that can answer (fallback), or one that plans and one that carries the plan out (plan_execute).",
    ),
    KeySpec::new(
        "composites.<name>.nodes",
        ValueKind::List,
        "The agents that it is made of, by name and in order; `agent/model` and composites too.",
    ),
    KeySpec::new(
        "composites.<name>.on",
        ValueKind::Choices(CAUSES),
        "The failures after which a `fallback` asks the next node; by default rate_limited, unavailable, timeout, auth_failed, session_orphaned and backend_error.",
    ),
    KeySpec::new(
        "composites.<name>.cool_down_secs",
        ValueKind::Seconds,
        "How long a node of a `fallback` that failed so is asked only if no other can, where its provider does not say how long to wait; 60 by default.",
    ),
    KeySpec::new(
        "composites.<name>.timeout_secs",
        ValueKind::Seconds,
        "How long one turn may take; without it, as long as its nodes may one after the other.",
    )
    .without_trust(),
    KeySpec::new(
        "model_list.<alias>.agent",
        ValueKind::Name,
        "The agent that answers where a client asks the gateway for the model of this name.",
    ),
    KeySpec::new(
        "model_list.<alias>.model",
        ValueKind::Text,
        "The model that this agent is to use, in its own words.",
    ),
    KeySpec::new(
        "model_list.<alias>.folder",
        ValueKind::Text,
        "Where the agent works; without it, in an empty repository that is made for each request.",
    ),
    KeySpec::new(
        "model_list.<alias>.permissions",
        ValueKind::Choice(&["allow", "deny"]),
        "What the agent may do there without asking: all that its walls allow, or only look (deny, the default).",
    ),
    KeySpec::new(
        "gateway.concurrency",
        ValueKind::Count,
        "How many requests the gateway works on at a time; the next ones are told to come again.",
    )
    .with_default("32"),
];
