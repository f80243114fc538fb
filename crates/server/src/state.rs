//! What all requests share.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;
use windlass_core::task::ProjectId;
use windlass_core::{Clock, TaskStore, Timestamp};
use windlass_runner::AgentPoolManager;

use crate::guard::{AllowedHosts, Token};
use crate::host_ops::{AgentCard, HostOps};
use crate::limits::ServerLimits;
use crate::ws::Ring;

/// The server's state: one for all its connections.
#[derive(Debug, Clone)]
pub(crate) struct AppState(Arc<AppStateInner>);

/// What is in it.
#[derive(Debug)]
pub(crate) struct AppStateInner {
    pub(crate) store: Arc<dyn TaskStore>,
    /// What kind of store it is, for people.
    pub(crate) store_kind: String,
    pub(crate) desk: Arc<dyn HostOps>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: ServerLimits,
    pub(crate) token: Token,
    pub(crate) cookie_name: String,
    pub(crate) hosts: AllowedHosts,
    /// The project of whoever names none.
    pub(crate) project: Option<ProjectId>,
    /// The room of the workers in this process.
    pub(crate) worker: Option<AgentPoolManager>,
    pub(crate) started: Timestamp,
    pub(crate) ring: Ring,
    /// How many may read old messages from the store at once.
    pub(crate) readers: Semaphore,
    /// How many diffs may be coloured at once.
    pub(crate) painters: Semaphore,
    /// The agents as they were when somebody last asked, and when that was.
    pub(crate) agents: Mutex<Option<(std::time::Duration, Vec<AgentCard>)>>,
    /// No new requests; sockets are closed.
    pub(crate) stop: CancellationToken,
    pub(crate) prefix: String,
    pub(crate) count: AtomicU64,
}

impl AppState {
    pub(crate) fn new(room: AppStateInner) -> Self {
        Self(Arc::new(room))
    }

    /// The number of a request, as no other server has it.
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
