//! Sends updates and requests to the client.

use std::sync::Arc;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{SessionNotification, SessionUpdate};
use agent_client_protocol::{Client, JsonRpcRequest, Result};

use crate::stdio::UpdateWindow;

/// The connection to the client.
#[derive(Debug, Clone)]
pub(crate) struct ClientLink {
    client: ConnectionTo<Client>,
    window: Arc<UpdateWindow>,
}

impl ClientLink {
    pub(crate) fn new(client: ConnectionTo<Client>, window: Arc<UpdateWindow>) -> Self {
        Self { client, window }
    }

    /// Sends an update; waits while too many are not yet written. If the client is gone, the session ends anyway.
    pub(crate) async fn update(&self, session: &str, update: SessionUpdate) {
        self.window.acquire().await;
        let notification = SessionNotification::new(session.to_owned(), update);
        if self.client.send_notification(notification).is_err() {
            tracing::debug!("the client is gone");
        }
    }

    /// Sends a request, and waits for the response. Dropping the future withdraws the request.
    pub(crate) async fn request<R>(&self, request: R) -> Result<R::Response>
    where
        R: JsonRpcRequest,
        R::Response: Send,
    {
        self.client.send_request(request).block_task().await
    }
}
