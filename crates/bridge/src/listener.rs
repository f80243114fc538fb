//! Accepts the connections of agents on loopback.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::forward::Forwarder;

/// The most connections that are open at the same time; further ones wait.
const MAX_CONNECTIONS: usize = 4096;
/// How long an agent may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_HEAD_BYTES: usize = 64 << 10;
const MAX_HEADERS: usize = 128;
/// How long to wait before the next accept after an error, such as too many open files.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(20);

/// Listens on an unused port of loopback.
pub(crate) fn bind() -> io::Result<(TcpListener, SocketAddr)> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Serves connections until the bridge is dropped.
pub(crate) async fn accept(
    listener: TcpListener,
    forwarder: Arc<Forwarder>,
    stop: CancellationToken,
) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let (forwarder, stop) = (Arc::clone(&forwarder), stop.clone());
                tokio::spawn(async move {
                    let _permit = permit;
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = serve(stream, forwarder) => {}
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "the bridge cannot accept a connection");
                tokio::time::sleep(ACCEPT_BACKOFF).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, forwarder: Arc<Forwarder>) {
    // Small chunks must not wait until the agent acknowledges the previous ones.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let forwarder = Arc::clone(&forwarder);
        async move { Ok::<_, Infallible>(forwarder.handle(request).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection to the bridge failed");
    }
}
