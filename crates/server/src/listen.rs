//! Connections: how many, how slow, and how they end.
//!
//! The limits on a request's head are the reason why this is not left to axum's own loop, which has none.

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

/// How long nothing is accepted when the system has no more to give.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(200);

/// A connection's place among those that may be open. A socket that outlives its request takes it along.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionSlot {
    _permit: Arc<OwnedSemaphorePermit>,
    /// While somebody holds it, a stop waits.
    _busy: mpsc::Sender<()>,
}

/// The two steps of a stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShutdownSignals {
    /// No new requests; those under way are answered.
    pub(crate) gently: CancellationToken,
    /// Everything ends now.
    pub(crate) at_once: CancellationToken,
}

/// Accepts until it is told to stop.
pub(crate) async fn accept(
    listener: TcpListener,
    router: Router,
    limits: ServerLimits,
    stop: ShutdownSignals,
    busy: mpsc::Sender<()>,
) {
    let room = Arc::new(Semaphore::new(limits.connections));
    loop {
        let next = async {
            // First a place, then a connection: what is not accepted waits with the system, and costs nothing here.
            let permit = Arc::clone(&room).acquire_owned().await;
            let permit = permit.map_err(io::Error::other)?;
            let (stream, _) = listener.accept().await?;
            io::Result::Ok((permit, stream))
        };
        let accepted = tokio::select! {
            () = stop.gently.cancelled() => return,
            accepted = next => accepted,
        };
        match accepted {
            Ok((permit, stream)) => {
                let place = ConnectionSlot {
                    _permit: Arc::new(permit),
                    _busy: busy.clone(),
                };
                tokio::spawn(serve(
                    stream,
                    router.clone(),
                    limits.clone(),
                    stop.clone(),
                    place,
                ));
            }
            Err(error) => {
                tracing::warn!(%error, "no connection was accepted");
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
    place: ConnectionSlot,
) {
    // Small pieces must not wait for the reader's acknowledgement of the ones before.
    let _ = stream.set_nodelay(true);
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(place.clone());
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
                    tracing::debug!(%error, "a connection broke");
                }
                return;
            }
            () = stop.gently.cancelled(), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            () = stop.at_once.cancelled() => return,
        }
    }
}
