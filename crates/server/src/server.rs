//! The server: what it is given, and how it is started and stopped.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use axum::Router;
use axum::middleware::from_fn_with_state;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, Semaphore, mpsc};
use tokio::task::JoinHandle;
use windlass_core::task::{ProjectId, StoreError};
use windlass_core::{Clock, SystemClock, TaskStore};
use windlass_gateway::AgentApi;
use windlass_runner::AgentPoolManager;

use crate::guard::{self, AllowedHosts, Token};
use crate::host_ops::HostOps;
use crate::limits::ServerLimits;
use crate::listen::{self, ShutdownSignals};
use crate::state::{AppState, AppStateInner};
use crate::{api, assets, ws};

/// How many readers may fetch old messages from the store at once.
const MAX_STORE_READERS: usize = 4;
/// How many diffs are coloured at once.
const MAX_HIGHLIGHTERS: usize = 1;

/// A server that does not run yet.
#[derive(Debug)]
pub struct Server {
    store: Arc<dyn TaskStore>,
    store_kind: String,
    desk: Arc<dyn HostOps>,
    token: Token,
    clock: Arc<dyn Clock>,
    limits: ServerLimits,
    project: Option<ProjectId>,
    worker: Option<AgentPoolManager>,
    hosts: Vec<String>,
    front: Option<AgentApi>,
    anywhere: bool,
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address is not of this machine alone.
    #[error(
        "{listen} can be reached from other machines, and everything sent to it could be read on the way: use 127.0.0.1 or [::1]"
    )]
    NotLoopback {
        /// The address.
        listen: SocketAddr,
    },
    /// Somebody else listens there.
    #[error(
        "{listen} is taken: another program listens there, perhaps another windlass serve; choose another with --listen"
    )]
    AddressInUse {
        /// The address.
        listen: SocketAddr,
    },
    /// Nobody can listen there.
    #[error("cannot listen on {listen}: {source}")]
    Bind {
        /// The address.
        listen: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Server {
    /// A server over this store, for whoever knows this token.
    pub fn new(store: Arc<dyn TaskStore>, desk: Arc<dyn HostOps>, token: Token) -> Self {
        Self {
            store,
            store_kind: "store".to_owned(),
            desk,
            token,
            clock: Arc::new(SystemClock::new()),
            limits: ServerLimits::default(),
            project: None,
            worker: None,
            hosts: Vec::new(),
            front: None,
            anywhere: false,
        }
    }

    /// Says what kind of store it is: `sqlite` or `postgres`.
    #[must_use]
    pub fn with_store_kind(mut self, kind: impl Into<String>) -> Self {
        self.store_kind = kind.into();
        self
    }

    /// The project of tasks that name none.
    #[must_use]
    pub fn with_project(mut self, project: ProjectId) -> Self {
        self.project = Some(project);
        self
    }

    /// Tells of the workers in this process.
    #[must_use]
    pub fn with_worker(mut self, pool: AgentPoolManager) -> Self {
        self.worker = Some(pool);
        self
    }

    /// Serves agents as models too.
    #[must_use]
    pub fn with_agent_api(mut self, front: AgentApi) -> Self {
        self.front = Some(front);
        self
    }

    /// Other limits than the usual ones.
    #[must_use]
    pub fn with_limits(mut self, limits: ServerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Further names by which it may be called, each with its port where it has one.
    #[must_use]
    pub fn with_hosts(mut self, hosts: Vec<String>) -> Self {
        self.hosts = hosts;
        self
    }

    /// Lets it listen where other machines can reach it, without any encryption.
    #[must_use]
    pub fn allow_non_loopback(mut self, anywhere: bool) -> Self {
        self.anywhere = anywhere;
        self
    }

    /// Begins to serve on this address; port 0 takes any that is free.
    ///
    /// # Errors
    ///
    /// Where the address is not of this machine alone, or taken, or the store cannot be read.
    pub async fn listen(self, listen: SocketAddr) -> Result<RunningServer, ServerError> {
        if !listen.ip().is_loopback() && !self.anywhere {
            return Err(ServerError::NotLoopback { listen });
        }
        let bind = |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::AddrInUse => ServerError::AddressInUse { listen },
            _ => ServerError::Bind { listen, source },
        };
        let listener = TcpListener::bind(listen).await.map_err(bind)?;
        let addr = listener.local_addr().map_err(bind)?;
        let last = self
            .store
            .wait_for_events(0, std::time::Duration::ZERO)
            .await?;
        let stop = ShutdownSignals::default();
        let (busy, done) = mpsc::channel(1);
        let limits = self.limits.clone();
        let prefix = format!("{:x}", self.clock.now().0 & 0xffff_ffff);
        let shared = AppState::new(AppStateInner {
            hosts: AllowedHosts::new(addr, &self.hosts),
            cookie_name: format!("windlass-{}", addr.port()),
            started: self.clock.now(),
            ring: ws::Ring::new(last, &limits),
            readers: Semaphore::new(MAX_STORE_READERS),
            painters: Semaphore::new(MAX_HIGHLIGHTERS),
            agents: Mutex::new(None),
            stop: stop.gently.clone(),
            prefix,
            count: AtomicU64::new(1),
            store: self.store,
            store_kind: self.store_kind,
            desk: self.desk,
            clock: self.clock,
            limits: self.limits,
            token: self.token,
            project: self.project,
            worker: self.worker,
        });
        let pump = tokio::spawn(ws::pump(shared.clone()));
        let router = router(&shared, self.front.as_ref());
        let accepting = listen::accept(listener, router, limits.clone(), stop.clone(), busy);
        Ok(RunningServer {
            addr,
            stop,
            done,
            limits,
            front: self.front,
            accepting: tokio::spawn(accepting),
            pump,
        })
    }
}

fn router(shared: &AppState, front: Option<&AgentApi>) -> Router {
    let mut router = Router::new()
        .nest("/api/v1", api::router())
        .fallback(assets::file)
        .with_state(shared.clone());
    if let Some(front) = front {
        router = router.merge(front.router());
    }
    router
        .layer(from_fn_with_state(shared.clone(), guard::guard))
        .layer(from_fn_with_state(shared.clone(), guard::finalize_response))
}

/// A server that runs. Dropping it ends it, without waiting.
#[derive(Debug)]
pub struct RunningServer {
    addr: SocketAddr,
    stop: ShutdownSignals,
    done: mpsc::Receiver<()>,
    limits: ServerLimits,
    front: Option<AgentApi>,
    accepting: JoinHandle<()>,
    pump: JoinHandle<()>,
}

impl RunningServer {
    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The address of its page.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Begins to stop: nothing new is accepted, sockets are closed. [`stop`](Self::stop) waits for the rest.
    pub fn drain(&self) {
        self.stop.gently.cancel();
    }

    /// Stops: nothing new, an end to every socket, a moment for what is under way.
    pub async fn stop(mut self) {
        self.stop.gently.cancel();
        // Nobody sends anything: it ends when the last who holds a sender is gone.
        let _ = tokio::time::timeout(self.limits.grace, self.done.recv()).await;
        if let Some(front) = &self.front {
            front.close().await;
        }
        self.stop.at_once.cancel();
        let _ = (&mut self.accepting).await;
        let _ = (&mut self.pump).await;
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.stop.gently.cancel();
        self.stop.at_once.cancel();
    }
}
