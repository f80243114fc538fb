//! Keys of composites, of models served by the gateway, and of the gateway.

use super::{KeySpec, ValueKind};

/// The error causes after which a fallback can use the next node.
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

/// The rows of composites and served models.
pub(super) const ROWS: &[KeySpec] = &[
    KeySpec::new(
        "composites.<name>.kind",
        ValueKind::Choice(&["single", "fallback", "plan_execute"]),
        "The kind of a composite, an agent made of several with the name `composite/profile/<name>`: one agent under another name (single), the first agent that succeeds (fallback), or one agent that plans and one that executes the plan (plan_execute).",
    ),
    KeySpec::new(
        "composites.<name>.nodes",
        ValueKind::List,
        "The agents of the composite, by name and in order; `agent/model` and other composites are allowed.",
    ),
    KeySpec::new(
        "composites.<name>.on",
        ValueKind::Choices(CAUSES),
        "The errors after which a `fallback` uses the next node; by default rate_limited, unavailable, timeout, auth_failed, session_orphaned and backend_error.",
    ),
    KeySpec::new(
        "composites.<name>.cool_down_secs",
        ValueKind::Seconds,
        "Cool-down of a `fallback` node after such an error: for this time it is used only if no other node is available. It applies if the provider sends no retry time; 60 by default.",
    ),
    KeySpec::new(
        "composites.<name>.timeout_secs",
        ValueKind::Seconds,
        "Timeout of one turn. Default: the sum of the timeouts of its nodes.",
    )
    .without_trust(),
    KeySpec::new(
        "model_list.<alias>.agent",
        ValueKind::Name,
        "The agent that answers requests to the gateway for the model of this name.",
    ),
    KeySpec::new(
        "model_list.<alias>.model",
        ValueKind::Text,
        "The model that the agent uses, by the agent's own name for it.",
    ),
    KeySpec::new(
        "model_list.<alias>.folder",
        ValueKind::Text,
        "The agent's working directory. Default: an empty repository, created for each request.",
    ),
    KeySpec::new(
        "model_list.<alias>.permissions",
        ValueKind::Choice(&["allow", "deny"]),
        "Whether the agent may change files there (allow) or only read (deny, the default).",
    ),
    KeySpec::new(
        "gateway.concurrency",
        ValueKind::Count,
        "Maximum concurrent requests; further requests get 429 with Retry-After.",
    )
    .with_default("32"),
];
