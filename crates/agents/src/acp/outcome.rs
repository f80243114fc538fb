//! Builds the terminal event of a turn from an agent's response. Pure.

use agent_client_protocol::v1::schema::{AuthMethod, Meta, PromptResponse, StopReason};
use serde_json::{Value, json};
use windlass_core::{AgentEvent, Error, ErrorCode, Usage};

use super::preset::{Quirks, UsageSource};
use crate::program::failure;

/// Maximum stored size of an error that is formatted as an answer, in bytes.
pub(super) const MAX_ERROR_BYTES: usize = 16 << 10;

/// How to make the directory of an agent without a preset available.
const STATE_HINT: &str = "if it keeps its login and sessions in its own directory, add that directory to \
    `writable`, or set `preset` if it is a known agent";

/// Messages of agents about a session that they do not have, in addition to those of `cli`.
const SESSION_LOST_PHRASES: &[&str] = &[
    "not found",
    "no rollout",
    "invalid session identifier",
    "no previous sessions",
    "unknown session",
];

/// Converts a protocol error to a terminal event.
pub(super) fn error_event(
    code: i32,
    message: &str,
    data: Option<&Value>,
    auth: &[AuthMethod],
) -> AgentEvent {
    let message = match data.and_then(|data| details(data, message)) {
        Some(details) if !message.contains(&*details) => format!("{message}: {details}"),
        _ => message.to_owned(),
    };
    match code {
        -32000 => failure::error_event_with_code(
            ErrorCode::AuthFailed,
            None,
            &needs_login(&message, auth),
        ),
        -32002 => AgentEvent::SessionInvalid { reason: message },
        -32603 | -32602 if is_lost(&message) => AgentEvent::SessionInvalid { reason: message },
        400..=599 => failure::error_event(u16::try_from(code).ok(), &message),
        _ => match failure::error_event(status(data), &message) {
            AgentEvent::Error {
                code: ErrorCode::AuthFailed,
                message,
                ..
            } => failure::error_event_with_code(ErrorCode::AuthFailed, None, &message),
            event => event,
        },
    }
}

/// Fields of `error.data` that describe the error, the most usual one first.
const DETAIL_FIELDS: &[&str] = &["details", "message", "reason", "error", "description"];

/// Messages that need the error's data to be understood.
const VAGUE_MESSAGES: &[&str] = &[
    "invalid params",
    "invalid request",
    "internal error",
    "server error",
    "",
];

/// How many characters of an error's data are shown if no field of it is known.
const MAX_DATA_CHARS: usize = 500;

/// Returns what an error's data adds to its message.
fn details(data: &Value, message: &str) -> Option<String> {
    if let Some(text) = data.as_str() {
        return Some(text.to_owned()).filter(|text| !text.is_empty());
    }
    let mut texts = DETAIL_FIELDS.iter().filter_map(|name| data[*name].as_str());
    if let Some(text) = texts.next() {
        return Some(text.to_owned());
    }
    let is_vague = VAGUE_MESSAGES.contains(&message.trim().to_lowercase().as_str());
    let is_empty = data.is_null() || data.as_object().is_some_and(serde_json::Map::is_empty);
    (is_vague && !is_empty).then(|| data.to_string().chars().take(MAX_DATA_CHARS).collect())
}

/// Returns an HTTP status from an error's fields.
fn status(data: Option<&Value>) -> Option<u16> {
    let data = data?;
    let info = data["codex_error_info"].as_object();
    let nested = info.and_then(|info| info.values().next());
    let fields = [
        Some(&data["status"]),
        Some(&data["statusCode"]),
        nested.map(|nested| &nested["http_status_code"]),
    ];
    let number = fields.into_iter().flatten().find_map(Value::as_u64)?;
    u16::try_from(number).ok()
}

fn is_lost(message: &str) -> bool {
    let lower = message.to_lowercase();
    let about_a_session = ["session", "thread", "rollout", "conversation"];
    SESSION_LOST_PHRASES
        .iter()
        .any(|phrase| lower.contains(phrase))
        && about_a_session.iter().any(|word| lower.contains(word))
}

/// Adds the agent's login methods to the message.
fn needs_login(message: &str, auth: &[AuthMethod]) -> String {
    if auth.is_empty() {
        return message.to_owned();
    }
    let methods: Vec<String> = auth.iter().map(auth_method_label).collect();
    format!("{message}; login methods: {}", methods.join(", "))
}

fn auth_method_label(method: &AuthMethod) -> String {
    let value = serde_json::to_value(method).unwrap_or_default();
    let (id, name) = (value["id"].as_str(), value["name"].as_str());
    match (name, id) {
        (Some(name), Some(id)) => format!("{name} ({id})"),
        (name, id) => name.or(id).unwrap_or("unnamed").to_owned(),
    }
}

/// Phrases about files that a process may not write, or cannot see.
const HIDDEN_STATE_PHRASES: &[&str] = &[
    "read-only file system",
    "erofs",
    "permission denied",
    "eacces",
];

/// Adds how to log in to an error that is about the login, unless the agent says it itself.
pub(super) fn with_login_hint(event: AgentEvent, login: Option<&str>) -> AgentEvent {
    match (event, login) {
        (
            AgentEvent::Error {
                code: ErrorCode::AuthFailed,
                message,
                recoverable,
            },
            Some(login),
        ) if !message.contains(login) => AgentEvent::Error {
            code: ErrorCode::AuthFailed,
            message: format!("{message}; if it is not logged in, {login}"),
            recoverable,
        },
        (event, _) => event,
    }
}

/// Adds how to make an agent's own directory available to an error that may be about it. Only for an agent without a
/// preset: the state of a known agent is visible.
pub(super) fn with_state_hint(event: AgentEvent) -> AgentEvent {
    let AgentEvent::Error {
        code,
        message,
        recoverable,
    } = event
    else {
        return event;
    };
    let lower = message.to_lowercase();
    let is_about_state = code == ErrorCode::AuthFailed
        || HIDDEN_STATE_PHRASES
            .iter()
            .any(|phrase| lower.contains(phrase));
    let message = if is_about_state {
        format!("{message}; {STATE_HINT}")
    } else {
        message
    };
    AgentEvent::Error {
        code,
        message,
        recoverable,
    }
}

/// Converts the terminal event of a failed request to an error, for session requests.
pub(super) fn as_error(event: AgentEvent) -> Error {
    match event {
        AgentEvent::Error { code, message, .. } => Error::agent(code, message),
        AgentEvent::SessionInvalid { reason } => Error::agent(ErrorCode::SessionOrphaned, reason),
        other => Error::agent(ErrorCode::BackendError, format!("{other:?}")),
    }
}

/// What is known at the end of a turn, in addition to the agent's response.
#[derive(Debug)]
pub(super) struct TurnSummary {
    /// The answer.
    pub(super) text: String,
    /// An error that was formatted as an answer.
    pub(super) error_text: Option<String>,
    /// Whether the client cancelled the turn.
    pub(super) stopped: bool,
    /// The tool that was denied.
    pub(super) denied: Option<String>,
    pub(super) usage: Option<Usage>,
    /// Whether the agent used a tool.
    pub(super) used_tool: bool,
    /// How full the model's context is, as the agent reported it last.
    pub(super) context: Option<ContextSize>,
}

/// How full a model's context is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContextSize {
    pub(super) used: u64,
    pub(super) size: u64,
}

/// Returns the terminal event.
pub(super) fn terminal(response: &PromptResponse, summary: TurnSummary) -> AgentEvent {
    if let Some(error_text) = summary.error_text {
        let error_text = error_text.trim();
        let message = error_text.strip_prefix("Error: ").unwrap_or(error_text);
        return failure::error_event(status_in_brackets(message), message);
    }
    let reason = match response.stop_reason {
        StopReason::Cancelled if summary.stopped => return Error::Cancelled.into(),
        StopReason::Cancelled => {
            let (code, message) = match summary.denied {
                Some(tool) => (
                    ErrorCode::PermissionDenied,
                    format!("the agent stopped because it was not allowed to use {tool}"),
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
                message: "the agent refused to continue".to_owned(),
                recoverable: false,
            };
        }
        StopReason::MaxTokens => "max_tokens",
        StopReason::MaxTurnRequests => "max_turn_requests",
        _ => "end_turn",
    };
    let wrote = summary
        .usage
        .as_ref()
        .is_some_and(|it| it.output_tokens > 0);
    if reason == "end_turn" && summary.text.trim().is_empty() && !summary.used_tool && !wrote {
        return AgentEvent::Error {
            code: ErrorCode::BackendError,
            message: "the agent ended the turn without an answer and without using a tool: its model may have \
                      failed, see the agent's own log or login"
                .to_owned(),
            recoverable: true,
        };
    }
    let mut metadata = json!({ "stop_reason": reason });
    if let Some(ContextSize { used, size }) = summary.context {
        metadata["context"] = json!({ "used": used, "size": size });
    }
    AgentEvent::Result {
        text: summary.text,
        usage: summary.usage,
        metadata,
    }
}

/// Parses the status in `… (HTTP 401)` or `… (status=401)`, the forms of some agents.
fn status_in_brackets(text: &str) -> Option<u16> {
    let after = text.split_once("(HTTP ").or(text.split_once("(status="))?.1;
    after.split(')').next()?.parse().ok()
}

/// Returns the usage of a turn, as counted in the response to the prompt.
pub(super) fn usage(response: &PromptResponse, quirks: &Quirks) -> Option<Usage> {
    if quirks.usage == UsageSource::Quota {
        let count = response.meta.as_ref()?.get("quota")?.get("token_count")?;
        return Some(Usage {
            input_tokens: count["input_tokens"].as_u64()?,
            output_tokens: count["output_tokens"].as_u64()?,
            ..Usage::default()
        });
    }
    let Some(counts) = response.usage.as_ref() else {
        let mut usage = meta_usage(response.meta.as_ref()?)?;
        without_cached(&mut usage, quirks);
        return Some(usage);
    };
    let mut usage = Usage {
        input_tokens: counts.input_tokens,
        output_tokens: counts.output_tokens,
        cache_read_tokens: counts.cached_read_tokens,
        cache_write_tokens: counts.cached_write_tokens,
        ..Usage::default()
    };
    without_cached(&mut usage, quirks);
    if quirks.usage == UsageSource::LastStep {
        usage.extra = Some(json!({ "counted": "last step" }));
    }
    Some(usage)
}

/// Returns the counts in a response's `_meta`, at whatever name the agent puts them.
fn meta_usage(meta: &Meta) -> Option<Usage> {
    let nested = meta.values().flat_map(|value| {
        let inner = value.as_object().into_iter().flat_map(|it| it.values());
        std::iter::once(value).chain(inner)
    });
    nested.into_iter().find_map(counts)
}

/// Returns the counts in an object that has them under one of the usual names.
fn counts(value: &Value) -> Option<Usage> {
    let number = |names: &[&str]| names.iter().find_map(|name| value[*name].as_u64());
    Some(Usage {
        input_tokens: number(&["inputTokens", "input_tokens", "prompt_tokens"])?,
        output_tokens: number(&["outputTokens", "output_tokens", "completion_tokens"])?,
        cache_read_tokens: number(&["cachedReadTokens", "cache_read_tokens", "cached_tokens"]),
        cache_write_tokens: number(&["cachedWriteTokens", "cache_write_tokens"]),
        ..Usage::default()
    })
}

/// Returns the usage of one model call, as counted in the `_meta` of a text chunk.
pub(super) fn chunk_usage(meta: Option<&Meta>, quirks: &Quirks) -> Option<Usage> {
    let mut usage = counts(meta?.get("usage")?)?;
    without_cached(&mut usage, quirks);
    Some(usage)
}

fn without_cached(usage: &mut Usage, quirks: &Quirks) {
    if quirks.input_includes_cached {
        let cached = usage.cache_read_tokens.unwrap_or(0);
        usage.input_tokens = usage.input_tokens.saturating_sub(cached);
    }
}

/// Returns the difference between two totals.
pub(super) fn usage_since(before: &Usage, total: &Usage) -> Usage {
    let difference = |a: u64, b: u64| a.saturating_sub(b);
    let optional = |a: Option<u64>, b: Option<u64>| a.map(|a| difference(a, b.unwrap_or(0)));
    Usage {
        input_tokens: difference(total.input_tokens, before.input_tokens),
        output_tokens: difference(total.output_tokens, before.output_tokens),
        cache_read_tokens: optional(total.cache_read_tokens, before.cache_read_tokens),
        cache_write_tokens: optional(total.cache_write_tokens, before.cache_write_tokens),
        ..total.clone()
    }
}
