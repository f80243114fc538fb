//! Connections: their number, their timeouts and their shutdown.
//!
//! This replaces axum's own accept loop, which has no limits on the size of a request's headers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::limits::ServerLimits;

/// How long to wait before the next accept after an error, such as too many open files.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(200);

/// The slot of an open connection. A WebSocket keeps it after its request has ended.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionSlot {
    _permit: Arc<OwnedSemaphorePermit>,
    /// While a sender exists, a stop waits.
    _busy: mpsc::Sender<()>,
}

/// The two steps of a stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShutdownSignals {
    /// No new requests; active ones are completed.
    pub(crate) graceful: CancellationToken,
    /// Everything ends immediately.
    pub(crate) immediate: CancellationToken,
}

/// Accepts connections until the shutdown starts.
pub(crate) async fn accept(
    listener: TcpListener,
    router: Router,
    limits: ServerLimits,
    stop: ShutdownSignals,
    busy: mpsc::Sender<()>,
) {
    let slots = Arc::new(Semaphore::new(limits.connections));
    loop {
        let next = async {
            // First a slot, then a connection: what is not accepted waits in the system's queue and costs
            // nothing here.
            let permit = Arc::clone(&slots).acquire_owned().await;
            let permit = permit.map_err(io::Error::other)?;
            let (stream, _) = listener.accept().await?;
            io::Result::Ok((permit, stream))
        };
        let accepted = tokio::select! {
            () = stop.graceful.cancelled() => return,
            accepted = next => accepted,
        };
        match accepted {
            Ok((permit, stream)) => {
                let slot = ConnectionSlot {
                    _permit: Arc::new(permit),
                    _busy: busy.clone(),
                };
                tokio::spawn(serve(
                    stream,
                    router.clone(),
                    limits.clone(),
                    stop.clone(),
                    slot,
                ));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept connection");
                tokio::time::sleep(ACCEPT_BACKOFF).await;
            }
        }
    }
}

async fn serve(
    stream: TcpStream,
    router: Router,
    limits: ServerLimits,
    stop: ShutdownSignals,
    slot: ConnectionSlot,
) {
    // Small chunks must not wait until the client acknowledges the previous ones.
    let _ = stream.set_nodelay(true);
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(slot.clone());
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_headers(limits.headers)
        .max_buf_size(limits.head_bytes)
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
            () = stop.graceful.cancelled(), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            () = stop.immediate.cancelled() => return,
        }
    }
}
