//! MCP over a pair of pipes, such as stdin and stdout.

use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use windlass_core::SystemClock;
use windlass_core::limits::PROTOCOL_LINE_BYTES;
use windlass_tasks::{AccessStore, ProjectId, Scope, TaskStore};

use super::handler::{McpAudit, McpHandler};
use crate::access::VisibleStore;
use crate::audit::Auditor;
use crate::board::{AgentList, Board};
use crate::call_slots::CallSlots;
use crate::host_ops::HostOps;

/// What a client may see and do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpAccess {
    /// The scopes.
    pub scopes: Vec<Scope>,
    /// The visible projects; `None` means all.
    pub projects: Option<Vec<ProjectId>>,
    /// The default project of new tasks.
    pub project: ProjectId,
    /// The user of the client, for what it reviews and merges.
    pub author: String,
}

/// An MCP server for one client.
#[derive(Debug)]
pub struct McpStdioServer {
    handler: McpHandler,
    actor: String,
}

/// Error of an MCP server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpServerError {
    /// The first message was not that of an MCP client.
    #[error("the client did not start the MCP protocol: {0}")]
    Handshake(String),
    /// The server ended unexpectedly.
    #[error("the MCP server failed: {0}")]
    Failed(String),
}

impl McpStdioServer {
    /// Creates a server for a client with this access.
    pub fn new(store: Arc<dyn TaskStore>, host_ops: Arc<dyn HostOps>, access: McpAccess) -> Self {
        let store = VisibleStore::new(store, access.projects);
        let agents = Arc::new(AgentList::new(Arc::new(SystemClock::new())));
        let actor = access.author.clone();
        let board = Board::new(store, host_ops, agents, Some(access.project), access.author);
        Self {
            handler: McpHandler::new(board, access.scopes, CallSlots::default(), None),
            actor,
        }
    }

    /// Records the calls that may change something in the audit log of this store.
    #[must_use]
    pub fn with_audit(mut self, store: Arc<dyn AccessStore>) -> Self {
        self.handler = self.handler.with_audit(McpAudit {
            auditor: Auditor::new(store),
            actor: self.actor.clone(),
            source: "stdio".to_owned(),
        });
        self
    }

    /// Serves until the input ends or `stop` is cancelled.
    ///
    /// # Errors
    ///
    /// Fails if the client does not speak the protocol.
    pub async fn serve<R, W>(
        self,
        input: R,
        output: W,
        stop: CancellationToken,
    ) -> Result<(), McpServerError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let transport =
            AsyncRwTransport::new_server(input, output).with_max_line_length(PROTOCOL_LINE_BYTES);
        let running = tokio::select! {
            running = self.handler.serve_with_ct(transport, stop.clone()) => running,
            () = stop.cancelled() => return Ok(()),
        };
        let running = match running {
            Ok(running) => running,
            // A client that leaves before its first message is not an error.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(McpServerError::Handshake(error.to_string())),
        };
        let ended = running.waiting().await;
        ended
            .map(drop)
            .map_err(|error| McpServerError::Failed(error.to_string()))
    }
}
