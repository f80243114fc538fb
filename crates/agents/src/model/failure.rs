//! Converts an error of a model API into the end of a turn.

use windlass_core::{AgentEvent, ErrorCode, TurnDiagnostics};
use windlass_wire::{ErrorKind, ModelError};

use crate::bridge::BUDGET_EXCEEDED;

/// Returns the error code for this kind of model error.
pub(crate) fn code(kind: ErrorKind) -> ErrorCode {
    code_and_hint(kind).0
}

/// Returns the HTTP status and the retry delay of the error.
pub(super) fn diagnostics(error: &ModelError) -> TurnDiagnostics {
    let diagnostics = TurnDiagnostics {
        status: Some(error.status),
        ..TurnDiagnostics::default()
    };
    diagnostics.with_retry_after(error.retry_after)
}

/// Returns the error code of the turn and a hint for the user, which may be empty.
fn code_and_hint(kind: ErrorKind) -> (ErrorCode, &'static str) {
    match kind {
        ErrorKind::Authentication => (
            ErrorCode::AuthFailed,
            "check the key in the variable that api_key_env names",
        ),
        ErrorKind::Permission => (ErrorCode::AuthFailed, ""),
        ErrorKind::RateLimited | ErrorKind::Overloaded => (ErrorCode::RateLimited, ""),
        ErrorKind::QuotaExhausted => (ErrorCode::RateLimited, "the quota is exhausted"),
        ErrorKind::Timeout => (ErrorCode::Timeout, ""),
        ErrorKind::TooLarge => (ErrorCode::OutputLimit, ""),
        ErrorKind::ContextOverflow => (
            ErrorCode::BackendError,
            "start a new session, or split the task",
        ),
        ErrorKind::NotFound => (ErrorCode::BackendError, "check model and endpoint"),
        _ => (ErrorCode::BackendError, ""),
    }
}

/// Builds the terminal event with the provider's error message.
pub(super) fn terminal(error: &ModelError) -> AgentEvent {
    let (mut code, hint) = code_and_hint(error.kind);
    if error.message.contains(BUDGET_EXCEEDED) {
        code = ErrorCode::BudgetExceeded;
    }
    let mut message = error.message.clone();
    if let Some(after) = error.retry_after {
        message += &format!(" (asked to wait {} s)", after.as_secs_f64());
    }
    if !hint.is_empty() {
        message += &format!(": {hint}");
    }
    AgentEvent::Error {
        code,
        message,
        recoverable: error.kind.is_transient(),
    }
}
