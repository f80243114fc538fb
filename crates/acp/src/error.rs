//! Converts errors to those of the protocol. Pure.

use agent_client_protocol::{Error as ProtocolError, ErrorCode as ProtocolCode};
use serde_json::json;
use windlass_core::{AgentEvent, Error, ErrorCode};

/// Converts an error. Its message is one sentence, and its data has the stable code.
pub(crate) fn to_protocol(error: &Error) -> ProtocolError {
    let code = match error {
        Error::Config { .. }
        | Error::UnknownBackend(_)
        | Error::Reference(_)
        | Error::InvalidInput(_)
        | Error::Unsupported { .. } => ProtocolCode::INVALID_PARAMS,
        Error::SessionBusy { .. } => ProtocolCode::INVALID_REQUEST,
        Error::SessionNotFound { .. } => ProtocolCode::RESOURCE_NOT_FOUND,
        _ => protocol_code(error.code()),
    };
    new(code, error.code(), &error.to_string())
}

/// Converts the terminal event of a failed turn; `None` if the turn did not fail.
pub(crate) fn of_event(event: &AgentEvent) -> Option<ProtocolError> {
    match event {
        AgentEvent::Error { code, message, .. } => Some(new(protocol_code(*code), *code, message)),
        AgentEvent::SessionInvalid { reason } => Some(new(
            ProtocolCode::RESOURCE_NOT_FOUND,
            ErrorCode::SessionOrphaned,
            reason,
        )),
        _ => None,
    }
}

fn protocol_code(code: ErrorCode) -> ProtocolCode {
    match code {
        ErrorCode::AuthFailed => ProtocolCode::AUTH_REQUIRED,
        ErrorCode::Cancelled => ProtocolCode::REQUEST_CANCELLED,
        _ => ProtocolCode::INTERNAL_ERROR,
    }
}

fn new(protocol: ProtocolCode, code: ErrorCode, message: &str) -> ProtocolError {
    let mut error = ProtocolError::new(protocol.value(), message);
    error.data = Some(json!({ "code": code }));
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_a_code_and_the_sentence() {
        let unknown = Error::SessionNotFound {
            backend: "windlass".to_owned(),
            session: "s".into(),
        };
        for (error, code) in [
            (Error::InvalidInput("no agent selected".to_owned()), -32602),
            (unknown, -32002),
            (Error::agent(ErrorCode::AuthFailed, "log in"), -32000),
            (Error::agent(ErrorCode::RateLimited, "slow down"), -32603),
            (Error::Cancelled, -32800),
        ] {
            let converted = to_protocol(&error);
            assert_eq!(converted.code.value(), code, "{error}");
            assert_eq!(converted.message, error.to_string());
        }
        let event = AgentEvent::from(Error::agent(ErrorCode::Timeout, "too slow"));
        let converted = of_event(&event).unwrap();
        assert_eq!(converted.data, Some(json!({ "code": "Timeout" })));
        assert!(of_event(&AgentEvent::result("ok")).is_none());
    }
}
