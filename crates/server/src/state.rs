//! State shared by all requests.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use windlass_core::{SpanCounts, Timestamp};
use windlass_runner::AgentPoolManager;
use windlass_tasks::{ModelCalls, ProjectId, TaskStore};

use crate::access::{Authenticator, Caller, VisibleStore};
use crate::audit::Auditor;
use crate::board::{AgentList, Board};
use crate::call_slots::CallSlots;
use crate::error::ApiError;
use crate::git::{GitHost, GitSlots};
use crate::host_ops::HostOps;
use crate::hosts::AllowedHosts;
use crate::limits::ServerLimits;
use crate::metrics::ServerMetrics;
use crate::ring::Ring;

/// The server's state, shared by all connections.
#[derive(Debug, Clone)]
pub(crate) struct AppState(Arc<AppStateInner>);

/// The fields of [`AppState`].
#[derive(Debug)]
pub(crate) struct AppStateInner {
    /// The whole store. Handlers use [`AppState::store_for`] instead.
    pub(crate) whole_store: Arc<dyn TaskStore>,
    /// The kind of the store, for display.
    pub(crate) store_kind: String,
    pub(crate) host_ops: Arc<dyn HostOps>,
    /// The model calls of agents, if they are counted.
    pub(crate) calls: Option<Arc<dyn ModelCalls>>,
    pub(crate) limits: ServerLimits,
    pub(crate) authenticator: Authenticator,
    pub(crate) auditor: Auditor,
    pub(crate) metrics: ServerMetrics,
    pub(crate) hosts: AllowedHosts,
    /// The default project of new tasks.
    pub(crate) project: Option<ProjectId>,
    /// The pool of the workers in this process.
    pub(crate) worker: Option<AgentPoolManager>,
    /// The spans that this process sends to a collector.
    pub(crate) spans: Option<Arc<SpanCounts>>,
    pub(crate) started: Timestamp,
    pub(crate) ring: Ring,
    /// Limits concurrent reads of old events from the store.
    pub(crate) store_readers: Semaphore,
    /// Limits concurrent highlighting of diffs.
    pub(crate) highlighters: Semaphore,
    pub(crate) agents: Arc<AgentList>,
    /// Limits the calls of MCP tools.
    pub(crate) call_slots: CallSlots,
    /// Serves the repositories of projects, if they are offered.
    pub(crate) git: Option<Arc<dyn GitHost>>,
    /// Limits the fetches and pushes.
    pub(crate) git_slots: GitSlots,
    /// No new requests; WebSockets are closed.
    pub(crate) stop: CancellationToken,
    pub(crate) prefix: String,
    pub(crate) count: AtomicU64,
}

impl AppState {
    pub(crate) fn new(inner: AppStateInner) -> Self {
        Self(Arc::new(inner))
    }

    /// Returns the store as a caller sees it.
    pub(crate) fn store_for(&self, caller: &Caller) -> VisibleStore {
        VisibleStore::new(Arc::clone(&self.whole_store), caller.projects.clone())
    }

    /// Returns the tasks as a caller sees them.
    pub(crate) fn board_for(&self, caller: &Caller) -> Board {
        let store = self.store_for(caller);
        let (host_ops, agents) = (Arc::clone(&self.host_ops), Arc::clone(&self.agents));
        let author = caller.author().to_owned();
        Board::new(store, host_ops, agents, self.project, author)
    }

    /// Returns a unique id for a request, also across servers.
    pub(crate) fn next_id(&self) -> String {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number}", self.prefix)
    }
}

impl Deref for AppState {
    type Target = AppStateInner;

    fn deref(&self) -> &AppStateInner {
        &self.0
    }
}

impl FromRequestParts<AppState> for VisibleStore {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        Ok(state.store_for(&caller))
    }
}

impl FromRequestParts<AppState> for Board {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        Ok(state.board_for(&caller))
    }
}
