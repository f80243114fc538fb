//! A model API's failure as the end of a turn.

use windlass_core::{AgentEvent, ErrorCode, TurnDiagnostics};
use windlass_wire::{ErrorKind, ModelError};

/// The code under which a failure of this kind is known everywhere else.
pub(crate) fn code(kind: ErrorKind) -> ErrorCode {
    code_and_hint(kind).0
}

/// What the provider's refusal leaves to be known.
pub(super) fn diagnostics(error: &ModelError) -> TurnDiagnostics {
    let left = TurnDiagnostics {
        status: Some(error.status),
        ..TurnDiagnostics::default()
    };
    left.with_retry_after(error.retry_after)
}

/// The code under which a turn fails, and what the user should do about it where that is known.
fn code_and_hint(kind: ErrorKind) -> (ErrorCode, &'static str) {
    match kind {
        ErrorKind::Authentication => (
            ErrorCode::AuthFailed,
            "check the key that api_key_env names",
        ),
        ErrorKind::Permission => (ErrorCode::AuthFailed, ""),
        ErrorKind::RateLimited | ErrorKind::Overloaded => (ErrorCode::RateLimited, ""),
        ErrorKind::QuotaExhausted => (ErrorCode::RateLimited, "the allowance is used up"),
        ErrorKind::Timeout => (ErrorCode::Timeout, ""),
        ErrorKind::TooLarge => (ErrorCode::OutputLimit, ""),
        ErrorKind::ContextOverflow => (
            ErrorCode::BackendError,
            "begin a new session, or ask for less at once",
        ),
        ErrorKind::NotFound => (ErrorCode::BackendError, "check model and endpoint"),
        _ => (ErrorCode::BackendError, ""),
    }
}

/// The terminal event that says what the provider said.
pub(super) fn terminal(error: &ModelError) -> AgentEvent {
    let (code, hint) = code_and_hint(error.kind);
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
