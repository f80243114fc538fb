//! The server: configuration, start and stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::routing::get;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use windlass_core::{Clock, SpanCounts, SystemClock};
use windlass_gateway::AgentApi;
use windlass_runner::AgentPoolManager;
use windlass_tasks::{AccessStore, ModelCalls, ProjectId, Scope, StoreError, TaskStore};

use crate::access::{Authenticator, RouteAccess};
use crate::audit::Auditor;
use crate::board::AgentList;
use crate::call_slots::CallSlots;
use crate::git::{GitHost, GitSlots};
use crate::guard::GuardedRouter;
use crate::host_ops::HostOps;
use crate::hosts::AllowedHosts;
use crate::limits::ServerLimits;
use crate::listen::{self, Serving, ShutdownSignals};
use crate::metrics::ServerMetrics;
use crate::ring::Ring;
use crate::state::{AppState, AppStateInner};
use crate::tls::{Tls, TlsError, TlsFiles};
use crate::token::Token;
use crate::{api, assets, git, mcp, monitor, ws};

/// The maximum number of subscribers that read old events from the store concurrently.
const MAX_STORE_READERS: usize = 4;
/// The maximum number of diffs that are highlighted concurrently.
const MAX_HIGHLIGHTERS: usize = 1;

/// A server that is not running yet.
#[derive(Debug)]
pub struct Server {
    store: Arc<dyn TaskStore>,
    access: Arc<dyn AccessStore>,
    store_kind: String,
    host_ops: Arc<dyn HostOps>,
    token: Token,
    clock: Arc<dyn Clock>,
    limits: ServerLimits,
    project: Option<ProjectId>,
    worker: Option<AgentPoolManager>,
    spans: Option<Arc<SpanCounts>>,
    hosts: Vec<String>,
    agent_api: Option<AgentApi>,
    calls: Option<Arc<dyn ModelCalls>>,
    non_loopback: bool,
    tls: Option<TlsFiles>,
    git: Option<Arc<dyn GitHost>>,
}

/// Error when a server cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address is not a loopback address.
    #[error(
        "{listen} is not a loopback address, and connections are not encrypted: use 127.0.0.1 or [::1], or a certificate"
    )]
    NotLoopback {
        /// The address.
        listen: SocketAddr,
    },
    /// Another program listens on the address.
    #[error(
        "{listen} is already in use, perhaps by another windlass serve: choose another address with --listen"
    )]
    AddressInUse {
        /// The address.
        listen: SocketAddr,
    },
    /// The address cannot be bound.
    #[error("cannot listen on {listen}: {source}")]
    Bind {
        /// The address.
        listen: SocketAddr,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The certificate or its key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Server {
    /// Creates a server for this store, with its own token, which allows everything.
    pub fn new(
        store: Arc<dyn TaskStore>,
        access: Arc<dyn AccessStore>,
        host_ops: Arc<dyn HostOps>,
        token: Token,
    ) -> Self {
        Self {
            store,
            access,
            store_kind: "store".to_owned(),
            host_ops,
            token,
            clock: Arc::new(SystemClock::new()),
            limits: ServerLimits::default(),
            project: None,
            worker: None,
            spans: None,
            hosts: Vec::new(),
            agent_api: None,
            calls: None,
            non_loopback: false,
            tls: None,
            git: None,
        }
    }

    /// Sets the kind of the store: `sqlite` or `postgres`.
    #[must_use]
    pub fn with_store_kind(mut self, kind: impl Into<String>) -> Self {
        self.store_kind = kind.into();
        self
    }

    /// Sets the default project of new tasks.
    #[must_use]
    pub fn with_project(mut self, project: ProjectId) -> Self {
        self.project = Some(project);
        self
    }

    /// Sets the pool of the workers in this process, for the health report.
    #[must_use]
    pub fn with_worker(mut self, pool: AgentPoolManager) -> Self {
        self.worker = Some(pool);
        self
    }

    /// Counts the spans that this process sends to a collector.
    #[must_use]
    pub fn with_span_counts(mut self, spans: Arc<SpanCounts>) -> Self {
        self.spans = Some(spans);
        self
    }

    /// Serves agents as models, too.
    #[must_use]
    pub fn with_agent_api(mut self, agent_api: AgentApi) -> Self {
        self.agent_api = Some(agent_api);
        self
    }

    /// Shows what the model calls of agents used and cost.
    #[must_use]
    pub fn with_model_calls(mut self, calls: Arc<dyn ModelCalls>) -> Self {
        self.calls = Some(calls);
        self
    }

    /// Sets other limits than the defaults.
    #[must_use]
    pub fn with_limits(mut self, limits: ServerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets additional allowed hosts, each with its port if it has one.
    #[must_use]
    pub fn with_hosts(mut self, hosts: Vec<String>) -> Self {
        self.hosts = hosts;
        self
    }

    /// Allows non-loopback addresses, although connections are not encrypted.
    #[must_use]
    pub fn allow_non_loopback(mut self, non_loopback: bool) -> Self {
        self.non_loopback = non_loopback;
        self
    }

    /// Encrypts connections with the certificate in these files. They are read again when they change.
    #[must_use]
    pub fn with_tls(mut self, files: TlsFiles) -> Self {
        self.tls = Some(files);
        self
    }

    /// Offers the repositories of projects at `/git/PROJECT.git`.
    #[must_use]
    pub fn with_git(mut self, git: Arc<dyn GitHost>) -> Self {
        self.git = Some(git);
        self
    }

    /// Starts serving on this address. Port 0 selects a free port.
    ///
    /// # Errors
    ///
    /// Fails if the address is not a loopback address and connections are not encrypted, if it is in use, if the
    /// certificate cannot be used, or if the store cannot be read.
    pub async fn listen(mut self, listen: SocketAddr) -> Result<RunningServer, ServerError> {
        if !listen.ip().is_loopback() && !self.non_loopback && self.tls.is_none() {
            return Err(ServerError::NotLoopback { listen });
        }
        let tls = self.tls.take().map(Tls::read).transpose()?;
        let bind = |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::AddrInUse => ServerError::AddressInUse { listen },
            _ => ServerError::Bind { listen, source },
        };
        let listener = listen::bind(listen).map_err(bind)?;
        let addr = listener.local_addr().map_err(bind)?;
        let last = self
            .store
            .wait_for_events(0, std::time::Duration::ZERO)
            .await?;
        let stop = ShutdownSignals::default();
        let (busy, done) = mpsc::channel(1);
        let (limits, agent_api) = (self.limits.clone(), self.agent_api.take());
        let certificate = tls.as_ref().map(|tls| Arc::clone(&tls.certificate));
        let hosts = AllowedHosts::new(addr, &self.hosts, certificate.clone());
        let state = self.into_state(hosts, last, &stop);
        let pump = tokio::spawn(ws::pump(state.clone()));
        let serving = Serving {
            guarded: GuardedRouter::new(state.clone(), router(&state, agent_api.as_ref())),
            limits: limits.clone(),
            stop: stop.clone(),
            handshakes: tls.map(|tls| tls.handshakes),
        };
        let accepting = tokio::spawn(listen::accept(listener, serving, busy));
        let url = match &certificate {
            Some(certificate) => format!("https://{}", certificate.host(addr)),
            None => format!("http://{addr}"),
        };
        if let Some(certificate) = certificate {
            let stop = stop.graceful.clone();
            tokio::spawn(certificate.follow(limits.certificate_check, stop));
        }
        Ok(RunningServer {
            addr,
            url,
            stop,
            done,
            limits,
            agent_api,
            accepting,
            pump,
        })
    }

    /// Returns the state of a server with these hosts, for events after the last one.
    fn into_state(self, hosts: AllowedHosts, last: u64, stop: &ShutdownSignals) -> AppState {
        let prefix = format!("{:x}", self.clock.now().0 & 0xffff_ffff);
        AppState::new(AppStateInner {
            hosts,
            metrics: ServerMetrics::default(),
            auditor: Auditor::new(Arc::clone(&self.access)),
            authenticator: Authenticator::new(self.token, self.access),
            started: self.clock.now(),
            ring: Ring::new(last, &self.limits),
            store_readers: Semaphore::new(MAX_STORE_READERS),
            highlighters: Semaphore::new(MAX_HIGHLIGHTERS),
            agents: Arc::new(AgentList::new(Arc::clone(&self.clock))),
            call_slots: CallSlots::default(),
            git: self.git,
            git_slots: GitSlots::default(),
            stop: stop.graceful.clone(),
            prefix,
            count: AtomicU64::new(1),
            whole_store: self.store,
            store_kind: self.store_kind,
            host_ops: self.host_ops,
            calls: self.calls,
            limits: self.limits,
            project: self.project,
            worker: self.worker,
            spans: self.spans,
        })
    }
}

fn router(state: &AppState, agent_api: Option<&AgentApi>) -> Router {
    let mut router = Router::new()
        .nest("/api/v1", api::router())
        .merge(mcp::router())
        .merge(git::router())
        .route(
            "/metrics",
            RouteAccess::Needs(Scope::Read).protect(get(monitor::metrics)),
        )
        .route("/livez", get(monitor::live))
        .route("/readyz", get(monitor::ready))
        .fallback(assets::file)
        .with_state(state.clone());
    if let Some(agent_api) = agent_api {
        let models = RouteAccess::Needs(Scope::Models);
        let check = move |request: Request, next: Next| models.pass(request, next);
        router = router.merge(agent_api.router().route_layer(from_fn(check)));
    }
    router
}

/// A running server. Dropping it stops it without waiting.
#[derive(Debug)]
pub struct RunningServer {
    addr: SocketAddr,
    url: String,
    stop: ShutdownSignals,
    done: mpsc::Receiver<()>,
    limits: ServerLimits,
    agent_api: Option<AgentApi>,
    accepting: JoinHandle<()>,
    pump: JoinHandle<()>,
}

impl RunningServer {
    /// Returns the address.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the URL of the dashboard. With a certificate, it has a name of the certificate.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Starts the shutdown: no new connections are accepted, and WebSockets are closed. [`stop`](Self::stop)
    /// waits for the rest.
    pub fn drain(&self) {
        self.stop.graceful.cancel();
    }

    /// Stops the server: accepts no new connections, closes WebSockets, and waits a short time for active
    /// requests.
    pub async fn stop(mut self) {
        self.stop.graceful.cancel();
        // Nothing is sent on this channel: it ends when the last sender is dropped.
        let _ = tokio::time::timeout(self.limits.grace, self.done.recv()).await;
        if let Some(agent_api) = &self.agent_api {
            agent_api.close().await;
        }
        self.stop.immediate.cancel();
        let _ = (&mut self.accepting).await;
        let _ = (&mut self.pump).await;
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.stop.graceful.cancel();
        self.stop.immediate.cancel();
    }
}
