//! A model that plays a script, on its own port.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use windlass_cassette::{Cassette, CassetteError, Substitutions};
use windlass_core::{Clock, SystemClock};

use crate::cassette::{CassettePlayer, ExchangeRecorder, record};
use crate::error::ListenError;
use crate::exchange_log::{ScriptReport, ServedExchange};
use crate::respond::{ScriptedServer, respond};
use crate::script::{Script, UnusedTurn};
use crate::script_state::{ExchangeCallback, ScriptState};
use crate::send::StopTimer;

/// How long a stop waits for active responses.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// A scripted model that is not yet served.
///
/// ```
/// use windlass_scripted::{ScriptedModel, script::Script};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let script = Script::parse(r#"{"turns": [{"answer": [{"text": "pong"}]}]}"#, "example")?;
/// let model = ScriptedModel::start(script, "127.0.0.1:0".parse()?).await?;
/// println!("point any agent at {}", model.url());
/// assert_eq!(model.unused_turns().len(), 1);
/// let report = model.stop().await;
/// assert_eq!(report.requests, 0);
/// # Ok(())
/// # }
/// ```
pub struct ScriptedModel {
    script: Script,
    cassette_player: Option<CassettePlayer>,
    clock: Arc<dyn Clock>,
    on_exchange: Option<ExchangeCallback>,
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
    /// Creates a model for this script.
    pub fn new(script: Script) -> Self {
        Self {
            script,
            cassette_player: None,
            clock: Arc::new(SystemClock::new()),
            on_exchange: None,
            records: false,
        }
    }

    /// Creates a model that replays the recorded responses of another one.
    pub fn from_cassette(cassette: &Cassette) -> Self {
        Self {
            cassette_player: Some(CassettePlayer::new(cassette)),
            ..Self::new(Script::default())
        }
    }

    /// Records every request and response, for [`RunningModel::cassette`].
    #[must_use]
    pub fn recording(mut self) -> Self {
        self.records = true;
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets a function that is called for every exchange, from the task that handles it.
    #[must_use]
    pub fn on_exchange(
        mut self,
        on_exchange: impl Fn(&ServedExchange) + Send + Sync + 'static,
    ) -> Self {
        self.on_exchange = Some(Box::new(on_exchange));
        self
    }

    /// Serves a script on this address. Port 0 selects a free port.
    pub async fn start(script: Script, listen: SocketAddr) -> Result<RunningModel, ListenError> {
        Self::new(script).listen(listen).await
    }

    /// Serves the model on this address, which must be a loopback address: a script has no key, so any client
    /// could use its turns.
    pub async fn listen(self, listen: SocketAddr) -> Result<RunningModel, ListenError> {
        if !listen.ip().is_loopback() {
            return Err(ListenError::NotLoopback { listen });
        }
        let bound = TcpListener::bind(listen).await;
        let listener = bound.map_err(|source| ListenError::Bind { listen, source })?;
        let addr = listener
            .local_addr()
            .map_err(|source| ListenError::Bind { listen, source })?;
        let stopped = CancellationToken::new();
        let state = Arc::new(ScriptState::new(self.script, self.on_exchange));
        let recorder = self
            .records
            .then(|| ExchangeRecorder::new(Arc::clone(&self.clock)));
        let server_state = ScriptedServer {
            state: Arc::clone(&state),
            cassette: self.cassette_player.map(Arc::new),
            timer: StopTimer {
                clock: Arc::clone(&self.clock),
                stopped: stopped.clone(),
            },
        };
        let mut router = Router::new().fallback(respond).with_state(server_state);
        if let Some(recorder) = &recorder {
            router = router.layer(from_fn_with_state(recorder.clone(), record));
        }
        // Small chunks must not wait until the client acknowledges the previous ones.
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let server = axum::serve(listener, router)
            .with_graceful_shutdown(stopped.clone().cancelled_owned())
            .into_future();
        Ok(RunningModel {
            addr,
            state,
            recorder,
            clock: self.clock,
            server: tokio::spawn(server),
            stopped: stopped.drop_guard(),
        })
    }
}

/// A running scripted model. Dropping it stops it without waiting.
#[derive(Debug)]
pub struct RunningModel {
    addr: SocketAddr,
    state: Arc<ScriptState>,
    recorder: Option<ExchangeRecorder>,
    clock: Arc<dyn Clock>,
    server: JoinHandle<std::io::Result<()>>,
    stopped: DropGuard,
}

impl RunningModel {
    /// Returns the address.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the base URL, to which an agent appends `/v1` or another path.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Returns every request so far and its outcome, at most the first 10,000.
    pub fn requests(&self) -> Vec<ServedExchange> {
        self.state.exchanges()
    }

    /// Returns the requests that the script did not expect.
    pub fn unexpected(&self) -> Vec<ServedExchange> {
        self.state.report().unexpected_requests
    }

    /// Returns the turns that were not used yet, or not often enough.
    pub fn unused_turns(&self) -> Vec<UnusedTurn> {
        self.state.unused_turns()
    }

    /// Returns the outcome of the script so far.
    pub fn report(&self) -> ScriptReport {
        self.state.report()
    }

    /// Returns all recorded exchanges as the text of a cassette, without machine-specific values; `None` if
    /// they were not recorded.
    pub fn cassette(&self, substitutions: &Substitutions) -> Option<Result<String, CassetteError>> {
        let recorder = self.recorder.as_ref()?;
        Some(recorder.cassette(substitutions))
    }

    /// Stops the model: accepts no new requests, ends hanging ones, and waits a short time for the others.
    pub async fn stop(self) -> ScriptReport {
        let Self {
            state,
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
        state.report()
    }
}
