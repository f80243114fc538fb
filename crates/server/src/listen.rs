//! Accepts connections and serves them, with their timeouts and their shutdown.
//!
//! This replaces axum's own accept loop, which has no limits on the size of a request's headers.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use futures::FutureExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::connections::{ConnectionSlot, Connections};
use crate::guard::GuardedRouter;
use crate::limits::ServerLimits;
use crate::tls::Handshakes;

/// How many connections the system accepts before the server does.
const BACKLOG: u32 = 4096;
/// How long to wait before the next accept after an error, such as too many open files.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(20);
/// How many connections without authentication are closed after such an error.
const CLOSED_AFTER_ERROR: usize = 64;

/// How long a client may leave sent data without a confirmation, or its receive buffer full.
const CLIENT_TIMEOUT_MS: u32 = 120_000;

/// The address of the client of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

/// The two steps of a stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShutdownSignals {
    /// No new requests; active ones are completed.
    pub(crate) graceful: CancellationToken,
    /// Everything ends immediately.
    pub(crate) immediate: CancellationToken,
}

/// Listens on an address.
pub(crate) fn bind(listen: SocketAddr) -> io::Result<TcpListener> {
    let socket = match listen {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // The next server can use the address although connections of this one are still being closed.
    socket.set_reuseaddr(true)?;
    socket.bind(listen)?;
    socket.listen(BACKLOG)
}

/// What all connections of a server have in common.
#[derive(Debug, Clone)]
pub(crate) struct Serving {
    pub(crate) guarded: GuardedRouter,
    pub(crate) limits: ServerLimits,
    pub(crate) stop: ShutdownSignals,
    /// `None` if connections are not encrypted.
    pub(crate) handshakes: Option<Arc<Handshakes>>,
}

/// Accepts connections until the shutdown starts. It never waits for a connection to end: the next one in the
/// queue may be that of an authenticated client.
pub(crate) async fn accept(listener: TcpListener, serving: Serving, busy: mpsc::Sender<()>) {
    let connections = Connections::new(serving.limits.connections);
    loop {
        let accepted = tokio::select! {
            () = serving.stop.graceful.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, address)) => {
                let slot = connections.add(address.ip(), busy.clone());
                let address = ClientAddress(address.ip());
                tokio::spawn(serving.clone().serve(stream, slot, address));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept connection");
                connections.close_oldest(CLOSED_AFTER_ERROR);
                tokio::time::sleep(ACCEPT_BACKOFF).await;
            }
        }
    }
}

impl Serving {
    async fn serve(self, stream: TcpStream, slot: ConnectionSlot, address: ClientAddress) {
        // Small chunks must not wait until the client acknowledges the previous ones.
        let _ = stream.set_nodelay(true);
        // A client that stops reading must not keep a response open.
        let _ = sockopt::set_tcp_user_timeout(&stream, CLIENT_TIMEOUT_MS);
        let Some(handshakes) = self.handshakes.clone() else {
            return self.serve_http(stream, slot, address).await;
        };
        // A client that does not complete its handshake counts like one that does not complete its request.
        let handshake = tokio::time::timeout(self.limits.head_time, handshakes.accept(stream));
        let accepted = tokio::select! {
            accepted = handshake => accepted,
            () = slot.closed() => return,
            () = self.stop.graceful.cancelled() => return,
        };
        match accepted {
            Ok(Ok(stream)) => self.serve_http(stream, slot, address).await,
            Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => tracing::debug!("TLS handshake timed out"),
        }
    }

    /// Serves the requests of a connection.
    async fn serve_http<S>(self, stream: S, slot: ConnectionSlot, address: ClientAddress)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let guarded = self.guarded;
        let request_slot = slot.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(request_slot.clone());
            request.extensions_mut().insert(address);
            let response = guarded.clone().respond(request.map(Body::new));
            // In a box, so that a connection without a request takes little memory.
            Box::pin(response.map(Ok::<_, Infallible>))
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_time)
            .max_headers(self.limits.headers)
            .max_buf_size(self.limits.head_bytes)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        tokio::pin!(connection);
        let mut stopping = false;
        loop {
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "connection failed");
                    }
                    return;
                }
                () = self.stop.graceful.cancelled(), if !stopping => {
                    stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = slot.closed() => return,
                () = self.stop.immediate.cancelled() => return,
            }
        }
    }
}
