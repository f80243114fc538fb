//! Says what went wrong with a server, in our words and with its own.

use std::sync::Arc;
use std::time::Duration;

use rmcp::service::{ClientInitializeError, ServiceError};
use tokio::time::timeout;

use crate::error::Error;
use crate::listing::Problem;
use crate::pipes::{End, Record};

/// How long a wire that broke may take to say why.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Knows a server's name and what became of its wire.
#[derive(Debug)]
pub(crate) struct Witness {
    pub(crate) name: String,
    pub(crate) record: Arc<Record>,
}

impl Witness {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            record: Arc::default(),
        }
    }

    pub(crate) fn not_started(&self, source: windlass_sandbox::Error) -> Error {
        Error::Start {
            server: self.name.clone(),
            source,
        }
    }

    pub(crate) async fn not_greeted(&self, error: ClientInitializeError) -> Error {
        match error {
            ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::TransportError { .. } => self.gone().await,
            ClientInitializeError::JsonRpcError(error) => self.refused("initialize", error),
            other => self.protocol("initialize", other.to_string()),
        }
    }

    pub(crate) async fn not_listed(&self, problem: Problem) -> Error {
        match problem {
            Problem::Service { what, error } => self.not_answered(what, error).await,
            Problem::TooMany { what, limit } => Error::TooMany {
                server: self.name.clone(),
                what,
                limit,
            },
        }
    }

    pub(crate) async fn not_answered(&self, what: &str, error: ServiceError) -> Error {
        match error {
            ServiceError::McpError(error) => self.refused(what, error),
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => self.gone().await,
            other => self.protocol(what, other.to_string()),
        }
    }

    pub(crate) async fn late(&self, what: &str, after: Duration) -> Error {
        let said = timeout(LAST_WORDS, self.record.said.wait()).await;
        Error::Timeout {
            server: self.name.clone(),
            what: what.to_owned(),
            after,
            said: said.cloned().unwrap_or_default(),
        }
    }

    async fn gone(&self) -> Error {
        let server = self.name.clone();
        match timeout(LAST_WORDS, self.record.end.wait()).await {
            Ok(End::OverLong) => Error::OverLong { server },
            Ok(End::Gone(how)) => Error::Gone {
                server,
                how: how.clone(),
            },
            Err(_) => Error::Gone {
                server,
                how: "no longer listens".to_owned(),
            },
        }
    }

    fn refused(&self, what: &str, error: rmcp::ErrorData) -> Error {
        Error::Refused {
            server: self.name.clone(),
            what: what.to_owned(),
            code: error.code.0,
            message: error.message.into_owned(),
        }
    }

    fn protocol(&self, what: &str, problem: String) -> Error {
        Error::Protocol {
            server: self.name.clone(),
            what: what.to_owned(),
            problem,
        }
    }
}
