//! How a turn ended, from what an agent says about it. Pure.

use agent_client_protocol::v1::schema::{AuthMethod, Meta, PromptResponse, StopReason};
use serde_json::{Value, json};
use windlass_core::{AgentEvent, Error, ErrorCode, Usage};

use super::preset::{Quirks, UsageSource};
use crate::cli::failure;

/// What is kept of an error that comes as an answer.
pub(super) const MAX_ERROR_BYTES: usize = 16 << 10;

/// Words by which agents say that they do not have a session, beyond those of the command line.
const SESSION_LOST_PHRASES: &[&str] = &[
    "not found",
    "no rollout",
    "invalid session identifier",
    "no previous sessions",
    "unknown session",
];

/// What an error of the protocol means to a turn.
pub(super) fn error_event(
    code: i32,
    message: &str,
    data: Option<&Value>,
    auth: &[AuthMethod],
) -> AgentEvent {
    let details = data.and_then(|data| {
        data["details"]
            .as_str()
            .or_else(|| data["message"].as_str())
    });
    let said = match details {
        Some(details) if !message.contains(details) => format!("{message}: {details}"),
        _ => message.to_owned(),
    };
    match code {
        -32000 => {
            failure::error_event_with_code(ErrorCode::AuthFailed, None, &needs_login(&said, auth))
        }
        -32002 => AgentEvent::SessionInvalid { reason: said },
        -32603 | -32602 if is_lost(&said) => AgentEvent::SessionInvalid { reason: said },
        400..=599 => failure::error_event(u16::try_from(code).ok(), &said),
        _ => match failure::error_event(status(data), &said) {
            AgentEvent::Error {
                code: ErrorCode::AuthFailed,
                message,
                ..
            } => failure::error_event_with_code(ErrorCode::AuthFailed, None, &message),
            event => event,
        },
    }
}

/// An HTTP status that an agent passes on in fields.
fn status(data: Option<&Value>) -> Option<u16> {
    let data = data?;
    let info = data["codex_error_info"].as_object();
    let nested = info.and_then(|info| info.values().next());
    let places = [
        Some(&data["status"]),
        Some(&data["statusCode"]),
        nested.map(|nested| &nested["http_status_code"]),
    ];
    let number = places.into_iter().flatten().find_map(Value::as_u64)?;
    u16::try_from(number).ok()
}

fn is_lost(said: &str) -> bool {
    let lower = said.to_lowercase();
    let about_a_session = ["session", "thread", "rollout", "conversation"];
    SESSION_LOST_PHRASES
        .iter()
        .any(|words| lower.contains(words))
        && about_a_session.iter().any(|word| lower.contains(word))
}

/// How to log in, as far as the agent says it.
fn needs_login(said: &str, auth: &[AuthMethod]) -> String {
    if auth.is_empty() {
        return said.to_owned();
    }
    let ways: Vec<String> = auth.iter().map(auth_method_label).collect();
    format!("{said}; it offers: {}", ways.join(", "))
}

fn auth_method_label(method: &AuthMethod) -> String {
    let value = serde_json::to_value(method).unwrap_or_default();
    let (id, name) = (value["id"].as_str(), value["name"].as_str());
    match (name, id) {
        (Some(name), Some(id)) => format!("{name} ({id})"),
        (name, id) => name.or(id).unwrap_or("a way without a name").to_owned(),
    }
}

/// The same for whoever waits for a session and not for a turn.
pub(super) fn as_error(event: AgentEvent) -> Error {
    match event {
        AgentEvent::Error { code, message, .. } => Error::agent(code, message),
        AgentEvent::SessionInvalid { reason } => Error::agent(ErrorCode::SessionOrphaned, reason),
        other => Error::agent(ErrorCode::BackendError, format!("{other:?}")),
    }
}

/// What is known at the end of a turn, beyond the agent's last word.
#[derive(Debug)]
pub(super) struct TurnSummary {
    /// What was said.
    pub(super) text: String,
    /// An error that came as an answer.
    pub(super) complaint: Option<String>,
    /// Whether we asked for the end.
    pub(super) stopped: bool,
    /// What was not allowed.
    pub(super) denied: Option<String>,
    pub(super) usage: Option<Usage>,
}

/// The terminal event.
pub(super) fn terminal(response: &PromptResponse, ending: TurnSummary) -> AgentEvent {
    if let Some(complaint) = ending.complaint {
        let complaint = complaint.trim();
        let words = complaint.strip_prefix("Error: ").unwrap_or(complaint);
        return failure::error_event(status_in_brackets(words), words);
    }
    let reason = match response.stop_reason {
        StopReason::Cancelled if ending.stopped => return Error::Cancelled.into(),
        StopReason::Cancelled => {
            let (code, message) = match ending.denied {
                Some(tool) => (
                    ErrorCode::PermissionDenied,
                    format!("the agent stopped, for it was not allowed to use {tool}"),
                ),
                None => (
                    ErrorCode::Cancelled,
                    "the agent cancelled the turn itself".to_owned(),
                ),
            };
            return failure::error_event_with_code(code, None, &message);
        }
        StopReason::Refusal => {
            return AgentEvent::Error {
                code: ErrorCode::BackendError,
                message: "the agent refused to go on".to_owned(),
                recoverable: false,
            };
        }
        StopReason::MaxTokens => "max_tokens",
        StopReason::MaxTurnRequests => "max_turn_requests",
        _ => "end_turn",
    };
    AgentEvent::Result {
        text: ending.text,
        usage: ending.usage,
        metadata: json!({ "stop_reason": reason }),
    }
}

/// `… (HTTP 401)`, as some say it.
fn status_in_brackets(text: &str) -> Option<u16> {
    let after = text.split_once("(HTTP ")?.1;
    after.split(')').next()?.parse().ok()
}

/// What a whole turn consumed, as the answer to the prompt counts it.
pub(super) fn usage(response: &PromptResponse, shims: &Quirks) -> Option<Usage> {
    if shims.usage == UsageSource::Quota {
        let count = response.meta.as_ref()?.get("quota")?.get("token_count")?;
        return Some(Usage {
            input_tokens: count["input_tokens"].as_u64()?,
            output_tokens: count["output_tokens"].as_u64()?,
            ..Usage::default()
        });
    }
    let said = response.usage.as_ref()?;
    let mut usage = Usage {
        input_tokens: said.input_tokens,
        output_tokens: said.output_tokens,
        cache_read_tokens: said.cached_read_tokens,
        cache_write_tokens: said.cached_write_tokens,
        ..Usage::default()
    };
    without_cached(&mut usage, shims);
    if shims.usage == UsageSource::LastStep {
        usage.extra = Some(json!({ "counted": "last step" }));
    }
    Some(usage)
}

/// What one call of the model consumed, where it goes with a piece of text.
pub(super) fn chunk_usage(meta: Option<&Meta>, shims: &Quirks) -> Option<Usage> {
    let count = meta?.get("usage")?;
    let mut usage = Usage {
        input_tokens: count["inputTokens"].as_u64()?,
        output_tokens: count["outputTokens"].as_u64()?,
        cache_read_tokens: count["cachedReadTokens"].as_u64(),
        ..Usage::default()
    };
    without_cached(&mut usage, shims);
    Some(usage)
}

fn without_cached(usage: &mut Usage, shims: &Quirks) {
    if shims.input_includes_cached {
        let cached = usage.cache_read_tokens.unwrap_or(0);
        usage.input_tokens = usage.input_tokens.saturating_sub(cached);
    }
}

/// What is left of a running total when what came before is taken off.
pub(super) fn usage_since(before: &Usage, total: &Usage) -> Usage {
    let left = |a: u64, b: u64| a.saturating_sub(b);
    let some = |a: Option<u64>, b: Option<u64>| a.map(|a| left(a, b.unwrap_or(0)));
    Usage {
        input_tokens: left(total.input_tokens, before.input_tokens),
        output_tokens: left(total.output_tokens, before.output_tokens),
        cache_read_tokens: some(total.cache_read_tokens, before.cache_read_tokens),
        cache_write_tokens: some(total.cache_write_tokens, before.cache_write_tokens),
        ..total.clone()
    }
}
