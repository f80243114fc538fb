//! A model that says what a script says, on a port of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use windlass_core::cassette::{Cassette, CassetteError, Substitutions};
use windlass_core::{Clock, SystemClock};

use crate::cassette::{CassettePlayer, ExchangeRecorder, record};
use crate::error::GatewayError;
use crate::exchange_log::{ScriptReport, ServedExchange};
use crate::respond::{ScriptedServer, respond};
use crate::script::{Script, UnusedTurn};
use crate::script_state::{ExchangeCallback, ScriptState};
use crate::send::StopTimer;

/// How long a stop waits for answers that are under way.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

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
    tape: Option<CassettePlayer>,
    clock: Arc<dyn Clock>,
    watch: Option<ExchangeCallback>,
    records: bool,
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
            tape: None,
            clock: Arc::new(SystemClock::new()),
            watch: None,
            records: false,
        }
    }

    /// A model that says what another one said while it was recorded.
    pub fn from_cassette(cassette: &Cassette) -> Self {
        Self {
            tape: Some(CassettePlayer::new(cassette)),
            ..Self::new(Script::default())
        }
    }

    /// Keeps every request and its answer, for [`Running::cassette`].
    #[must_use]
    pub fn recording(mut self) -> Self {
        self.records = true;
        self
    }

    /// Takes time from elsewhere.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Has every exchange told, from the task that answers it.
    #[must_use]
    pub fn on_exchange(mut self, watch: impl Fn(&ServedExchange) + Send + Sync + 'static) -> Self {
        self.watch = Some(Box::new(watch));
        self
    }

    /// Serves a script on this address; port 0 takes any that is free.
    pub async fn start(script: Script, listen: SocketAddr) -> Result<RunningModel, GatewayError> {
        Self::new(script).listen(listen).await
    }

    /// Serves it on this address, which must be of this machine: a script has no key, and anybody may use up its turns.
    pub async fn listen(self, listen: SocketAddr) -> Result<RunningModel, GatewayError> {
        if !listen.ip().is_loopback() {
            return Err(GatewayError::NotLoopback { listen });
        }
        let bound = TcpListener::bind(listen).await;
        let listener = bound.map_err(|source| GatewayError::Bind { listen, source })?;
        let addr = listener
            .local_addr()
            .map_err(|source| GatewayError::Bind { listen, source })?;
        let stopped = CancellationToken::new();
        let room = Arc::new(ScriptState::new(self.script, self.watch));
        let recorder = self
            .records
            .then(|| ExchangeRecorder::new(Arc::clone(&self.clock)));
        let host = ScriptedServer {
            room: Arc::clone(&room),
            tape: self.tape.map(Arc::new),
            patience: StopTimer {
                clock: Arc::clone(&self.clock),
                stopped: stopped.clone(),
            },
        };
        let mut router = Router::new().fallback(respond).with_state(host);
        if let Some(recorder) = &recorder {
            router = router.layer(from_fn_with_state(recorder.clone(), record));
        }
        // Small pieces must not wait for the reader's acknowledgement of the ones before.
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let server = axum::serve(listener, router)
            .with_graceful_shutdown(stopped.clone().cancelled_owned())
            .into_future();
        Ok(RunningModel {
            addr,
            room,
            recorder,
            clock: self.clock,
            server: tokio::spawn(server),
            stopped: stopped.drop_guard(),
        })
    }
}

/// A scripted model that is served. Dropping it ends it, without waiting.
#[derive(Debug)]
pub struct RunningModel {
    addr: SocketAddr,
    room: Arc<ScriptState>,
    recorder: Option<ExchangeRecorder>,
    clock: Arc<dyn Clock>,
    server: JoinHandle<std::io::Result<()>>,
    stopped: DropGuard,
}

impl RunningModel {
    /// Where it is served.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The same as a URL, to which an agent adds `/v1` or whatever it is used to.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Every request so far and what became of it, the first 10,000 of them.
    pub fn requests(&self) -> Vec<ServedExchange> {
        self.room.exchanges()
    }

    /// The requests that the script did not expect.
    pub fn unexpected(&self) -> Vec<ServedExchange> {
        self.room.report().unexpected_requests
    }

    /// The turns that nothing asked for yet, or not often enough.
    pub fn unused_turns(&self) -> Vec<UnusedTurn> {
        self.room.unused_turns()
    }

    /// What became of the script so far.
    pub fn report(&self) -> ScriptReport {
        self.room.report()
    }

    /// Every request and answer so far as a cassette's text, without what belongs to this machine; none if they were not kept.
    pub fn cassette(&self, places: &Substitutions) -> Option<Result<String, CassetteError>> {
        let recorder = self.recorder.as_ref()?;
        Some(recorder.cassette(places))
    }

    /// Stops: no new requests, an end to every hanging one, a moment for the others.
    pub async fn stop(self) -> ScriptReport {
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
            () = clock.sleep(STOP_TIMEOUT) => server.abort(),
        }
        room.report()
    }
}
