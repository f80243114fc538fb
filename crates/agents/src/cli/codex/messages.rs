//! The messages of `codex app-server`: JSON-RPC without the `jsonrpc` field, one per line.

use serde::Deserialize;
use serde_json::Value;
use windlass_core::{AgentEvent, ErrorCode, PlanEntry, PlanStatus};

use super::exec::parse_reconnect;
use super::items::Item;
use crate::cli::tokens::OpenAiTokens;
use crate::program::failure;

/// A request, a response or a notification.
#[derive(Deserialize)]
pub(super) struct Message<'a> {
    pub(super) id: Option<Value>,
    pub(super) method: Option<String>,
    #[serde(borrow)]
    pub(super) params: Option<Params<'a>>,
    #[serde(borrow)]
    pub(super) result: Option<Params<'a>>,
    pub(super) error: Option<RpcError>,
}

/// The fields of all messages that are read. Each name has the same meaning in every message.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Params<'a> {
    pub(super) thread_id: Option<String>,
    pub(super) turn_id: Option<String>,
    pub(super) item_id: Option<String>,
    pub(super) delta: Option<String>,
    pub(super) diff: Option<String>,
    #[serde(borrow)]
    pub(super) item: Option<Item<'a>>,
    pub(super) thread: Option<IdOnly>,
    pub(super) turn: Option<TurnInfo>,
    pub(super) token_usage: Option<ThreadUsage>,
    pub(super) error: Option<CodexError>,
    pub(super) will_retry: bool,
    pub(super) plan: Option<Vec<PlanStep>>,
    pub(super) command: Option<String>,
    pub(super) reason: Option<String>,
    #[serde(rename = "_meta")]
    pub(super) meta: Option<Meta>,
}

/// The kind of an elicitation request.
#[derive(Deserialize)]
pub(super) struct Meta {
    pub(super) codex_approval_kind: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct IdOnly {
    pub(super) id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TurnInfo {
    pub(super) id: String,
    pub(super) status: Option<String>,
    pub(super) error: Option<CodexError>,
    pub(super) duration_ms: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct ThreadUsage {
    pub(super) total: OpenAiTokens,
    pub(super) last: OpenAiTokens,
}

#[derive(Deserialize)]
pub(super) struct RpcError {
    pub(super) message: String,
}

#[derive(Deserialize)]
pub(super) struct PlanStep {
    step: String,
    status: String,
}

impl From<PlanStep> for PlanEntry {
    fn from(step: PlanStep) -> Self {
        Self {
            step: step.step,
            status: match step.status.as_str() {
                "completed" => PlanStatus::Completed,
                "inProgress" => PlanStatus::InProgress,
                _ => PlanStatus::Pending,
            },
        }
    }
}

/// An error with its type, and often with the HTTP status that caused it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodexError {
    message: String,
    codex_error_info: Option<Value>,
    additional_details: Option<String>,
}

impl CodexError {
    /// Converts an error that Codex retries on its own.
    pub(super) fn into_retry_event(self) -> AgentEvent {
        let reason = self.additional_details.unwrap_or_default();
        parse_reconnect(&format!("{} ({reason})", self.message))
            .unwrap_or_else(|| failure::retry(None, None, None, None, &self.message))
    }

    /// Converts an error that ended the turn.
    pub(super) fn into_error_event(self) -> AgentEvent {
        let info = self.codex_error_info.unwrap_or_default();
        let status = info
            .as_object()
            .and_then(|kind| kind.values().next())
            .and_then(|details| details.get("httpStatusCode")?.as_u64())
            .and_then(|status| u16::try_from(status).ok());
        let code = match info.as_str() {
            Some("unauthorized") => ErrorCode::AuthFailed,
            Some("usageLimitExceeded" | "rateLimitExceeded" | "sessionBudgetExceeded") => {
                ErrorCode::RateLimited
            }
            Some("tooManyDenials") => ErrorCode::PermissionDenied,
            _ => return failure::error_event(status, &self.message),
        };
        failure::error_event_with_code(code, status, &self.message)
    }
}
