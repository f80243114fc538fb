//! Builds errors with the name of the server, the reason of its end and its stderr.

use std::sync::Arc;
use std::time::Duration;

use rmcp::service::{ClientInitializeError, ServiceError};
use tokio::time::timeout;

use crate::error::Error;
use crate::listing::ListError;
use crate::stdio::{TransportEnd, TransportState};

/// How long to wait for the reason after the connection closed.
const END_REASON_TIMEOUT: Duration = Duration::from_secs(2);

/// The name of a server and the state of its transport.
#[derive(Debug)]
pub(crate) struct ErrorContext {
    pub(crate) name: String,
    pub(crate) transport: Arc<TransportState>,
}

impl ErrorContext {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            transport: Arc::default(),
        }
    }

    pub(crate) fn start_error(&self, source: windlass_sandbox::Error) -> Error {
        Error::Start {
            server: self.name.clone(),
            source,
        }
    }

    pub(crate) async fn handshake_error(&self, error: ClientInitializeError) -> Error {
        match error {
            ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::TransportError { .. } => self.exited_error().await,
            ClientInitializeError::JsonRpcError(error) => self.error_response("initialize", error),
            other => self.protocol_error("initialize", other.to_string()),
        }
    }

    pub(crate) async fn list_error(&self, problem: ListError) -> Error {
        match problem {
            ListError::Service { what, error } => self.request_error(what, error).await,
            ListError::TooMany { what, limit } => Error::TooMany {
                server: self.name.clone(),
                what,
                limit,
            },
        }
    }

    pub(crate) async fn request_error(&self, what: &str, error: ServiceError) -> Error {
        match error {
            ServiceError::McpError(error) => self.error_response(what, error),
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                self.exited_error().await
            }
            other => self.protocol_error(what, other.to_string()),
        }
    }

    pub(crate) async fn timeout_error(&self, what: &str, after: Duration) -> Error {
        let stderr = timeout(END_REASON_TIMEOUT, self.transport.stderr.wait()).await;
        Error::Timeout {
            server: self.name.clone(),
            what: what.to_owned(),
            after,
            stderr: stderr.cloned().unwrap_or_default(),
        }
    }

    async fn exited_error(&self) -> Error {
        let server = self.name.clone();
        match timeout(END_REASON_TIMEOUT, self.transport.end.wait()).await {
            Ok(TransportEnd::LineTooLong) => Error::LineTooLong { server },
            Ok(TransportEnd::Exited(how)) => Error::ServerExited {
                server,
                how: how.clone(),
            },
            Err(_) => Error::ServerExited {
                server,
                how: "no longer reads its input".to_owned(),
            },
        }
    }

    fn error_response(&self, what: &str, error: rmcp::ErrorData) -> Error {
        Error::ErrorResponse {
            server: self.name.clone(),
            what: what.to_owned(),
            code: error.code.0,
            message: error.message.into_owned(),
        }
    }

    fn protocol_error(&self, what: &str, problem: String) -> Error {
        Error::Protocol {
            server: self.name.clone(),
            what: what.to_owned(),
            problem,
        }
    }
}
