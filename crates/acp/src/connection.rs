//! Serves one client, from its first message until it closes its side.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::v1::schema::{CancelNotification, ClientRequest};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{
    Agent, Client, ConnectTo, Lines, on_receive_notification, on_receive_request,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::host::AcpHost;
use crate::link::ClientLink;
use crate::requests::RequestHandler;
use crate::sessions::{ServerSettings, Sessions};
use crate::stdio::{self, UpdateWindow};

/// How long all turns may take to end, and the last messages to be written, after the client closed its side.
const CLOSE_WAIT: Duration = Duration::from_secs(4);

/// Serves a client until it closes its side or `stop` is cancelled. Then all turns and agents have ended.
pub async fn serve(
    host: Arc<dyn AcpHost>,
    settings: ServerSettings,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    stop: CancellationToken,
) {
    let sessions = Arc::new(Sessions::new(host, settings));
    let window = Arc::new(UpdateWindow::new());
    let transport = Lines::new(
        stdio::outgoing(writer, Arc::clone(&window)),
        stdio::incoming(reader),
    );
    let closed = CancellationToken::new();
    let connection = connect(
        transport,
        Arc::clone(&sessions),
        window,
        stop,
        closed.clone(),
    );
    let overdue = async {
        closed.cancelled().await;
        tokio::time::sleep(CLOSE_WAIT).await;
    };
    tokio::select! {
        () = connection => {}
        () = overdue => tracing::warn!("the last messages were not written in time"),
    }
    sessions.shut_down().await;
}

/// Answers messages until the client closes its side, and then ends all turns. `closed` is cancelled between the two.
async fn connect(
    transport: impl ConnectTo<Agent> + 'static,
    sessions: Arc<Sessions>,
    window: Arc<UpdateWindow>,
    stop: CancellationToken,
    closed: CancellationToken,
) {
    let (for_requests, for_cancel) = (Arc::clone(&sessions), Arc::clone(&sessions));
    let connected = Agent
        .v1()
        .name("windlass")
        .on_receive_request(
            async move |request: ClientRequest,
                        responder: Responder,
                        client: ConnectionTo<Client>| {
                let link = ClientLink::new(client, Arc::clone(&window));
                let handler = RequestHandler::new(Arc::clone(&for_requests), link);
                handler.handle(request, responder)
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |request: CancelNotification, _: ConnectionTo<Client>| {
                if let Ok(session) = for_cancel.get(&request.session_id.0) {
                    session.cancel();
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_with(transport, async move |client: ConnectionTo<Client>| {
            tokio::select! {
                () = client.incoming_closed() => {}
                () = stop.cancelled() => {}
            }
            closed.cancel();
            sessions.shut_down().await;
            Ok(())
        });
    if let Err(error) = connected.await {
        tracing::debug!(code = error.code.value(), "the connection ended");
    }
}
