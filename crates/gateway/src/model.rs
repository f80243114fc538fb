//! A model that says what a script says, on a port of its own.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use windlass_core::{Clock, SystemClock};

use crate::deliver::Patience;
use crate::error::GatewayError;
use crate::record::{Exchange, Report};
use crate::respond::{Host, respond};
use crate::room::{Room, Watch};
use crate::script::{Script, UnmetTurn};

/// How long a stop waits for answers that are under way.
const GRACE: Duration = Duration::from_secs(2);

/// A scripted model that is not yet served.
///
/// ```
/// use windlass_gateway::{ScriptedModel, script::Script};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let script = Script::parse(r#"{"turns": [{"answer": [{"text": "pong"}]}]}"#, "example")?;
/// let model = ScriptedModel::start(script, "127.0.0.1:0".parse()?).await?;
/// println!("point any agent at {}", model.url());
/// assert_eq!(model.unmet().len(), 1);
/// let report = model.stop().await;
/// assert_eq!(report.requests, 0);
/// # Ok(())
/// # }
/// ```
pub struct ScriptedModel {
    script: Script,
    clock: Arc<dyn Clock>,
    watch: Option<Watch>,
}

impl std::fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedModel")
            .field("script", &self.script)
            .finish_non_exhaustive()
    }
}

impl ScriptedModel {
    /// A model for this script.
    pub fn new(script: Script) -> Self {
        Self {
            script,
            clock: Arc::new(SystemClock::new()),
            watch: None,
        }
    }

    /// Takes time from elsewhere.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Has every exchange told, from the task that answers it.
    #[must_use]
    pub fn with_watch(mut self, watch: impl Fn(&Exchange) + Send + Sync + 'static) -> Self {
        self.watch = Some(Box::new(watch));
        self
    }

    /// Serves a script on this address; port 0 takes any that is free.
    pub async fn start(script: Script, listen: SocketAddr) -> Result<Running, GatewayError> {
        Self::new(script).listen(listen).await
    }

    /// Serves it on this address, which must be of this machine: a script has no key, and anybody may use up its turns.
    pub async fn listen(self, listen: SocketAddr) -> Result<Running, GatewayError> {
        if !listen.ip().is_loopback() {
            return Err(GatewayError::NotLoopback { listen });
        }
        let bound = TcpListener::bind(listen).await;
        let listener = bound.map_err(|source| GatewayError::Bind { listen, source })?;
        let addr = listener
            .local_addr()
            .map_err(|source| GatewayError::Bind { listen, source })?;
        let stopped = CancellationToken::new();
        let room = Arc::new(Room::new(self.script, self.watch));
        let host = Host {
            room: Arc::clone(&room),
            patience: Patience {
                clock: Arc::clone(&self.clock),
                stopped: stopped.clone(),
            },
        };
        let router = Router::new().fallback(respond).with_state(host);
        // Small pieces must not wait for the reader's acknowledgement of the ones before.
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let server = axum::serve(listener, router)
            .with_graceful_shutdown(stopped.clone().cancelled_owned())
            .into_future();
        Ok(Running {
            addr,
            room,
            clock: self.clock,
            server: tokio::spawn(server),
            stopped: stopped.drop_guard(),
        })
    }
}

/// A scripted model that is served. Dropping it ends it, without waiting.
#[derive(Debug)]
pub struct Running {
    addr: SocketAddr,
    room: Arc<Room>,
    clock: Arc<dyn Clock>,
    server: JoinHandle<std::io::Result<()>>,
    stopped: DropGuard,
}

impl Running {
    /// Where it is served.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The same as a URL, to which an agent adds `/v1` or whatever it is used to.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Every request so far and what became of it, the first 10,000 of them.
    pub fn requests(&self) -> Vec<Exchange> {
        self.room.exchanges()
    }

    /// The requests that the script did not expect.
    pub fn unexpected(&self) -> Vec<Exchange> {
        self.room.report().unexpected_requests
    }

    /// The turns that nothing asked for yet, or not often enough.
    pub fn unmet(&self) -> Vec<UnmetTurn> {
        self.room.unmet()
    }

    /// What became of the script so far.
    pub fn report(&self) -> Report {
        self.room.report()
    }

    /// Stops: no new requests, an end to every hanging one, a moment for the others.
    pub async fn stop(self) -> Report {
        let Self {
            room,
            clock,
            mut server,
            stopped,
            ..
        } = self;
        drop(stopped);
        tokio::select! {
            _ = &mut server => {}
            () = clock.sleep(GRACE) => server.abort(),
        }
        room.report()
    }
}

/// Serves a script until something else is done, such as waiting for an interrupt: the whole of `windlass model`.
///
/// `ready` is told the address once it is known, `watch` every exchange.
pub async fn serve(
    script: Script,
    listen: SocketAddr,
    until: impl Future<Output = ()>,
    ready: impl FnOnce(SocketAddr),
    watch: impl Fn(&Exchange) + Send + Sync + 'static,
) -> Result<Report, GatewayError> {
    let running = ScriptedModel::new(script)
        .with_watch(watch)
        .listen(listen)
        .await?;
    ready(running.addr());
    until.await;
    Ok(running.stop().await)
}
