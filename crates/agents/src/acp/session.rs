//! What the client knows about a session.

use std::path::PathBuf;

use parking_lot::Mutex;
use windlass_core::{
    DirAccess, McpServer, PermissionPolicy, PermissionRule, SessionId, SessionOptions, Usage,
    WorkLabel,
};

use crate::program::session::ProtocolSession;

/// What sessions must have in common to share a process: its sandbox, its launch options and its purpose.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ProcessKey {
    /// The working directory, which the process may write to.
    pub(super) cwd: PathBuf,
    /// The model, if it is chosen at launch.
    pub(super) model: Option<String>,
    /// Whether the agent must ask before it acts.
    pub(super) asks_permission: bool,
    /// What the process may change in the working directory.
    pub(super) access: DirAccess,
    /// Paths outside the working directory that the process can read.
    pub(super) readable: Vec<PathBuf>,
    /// The MCP servers that the process starts.
    pub(super) servers: Vec<McpServer>,
    /// The work that the process is used for.
    pub(super) work: WorkLabel,
}

/// Where a session is: its ID is unique on its connection only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionLocation {
    /// The number of the connection.
    pub(super) connection: u64,
    /// The agent's ID of the session.
    pub(super) name: String,
}

/// One conversation.
pub(super) type AcpSession = ProtocolSession<AcpSessionDetail>;

#[derive(Debug)]
pub(super) struct AcpSessionDetail {
    pub(super) policy: PermissionPolicy,
    pub(super) rules: Vec<PermissionRule>,
    /// Which processes can serve it.
    pub(super) key: ProcessKey,
    /// Whether the agent had the session before.
    resumed: bool,
    state: Mutex<AcpSessionState>,
}

#[derive(Debug)]
struct AcpSessionState {
    location: SessionLocation,
    /// Total usage so far; `None` if it is unknown because the session started elsewhere.
    total: Option<Usage>,
    cost: Option<f64>,
}

impl AcpSession {
    /// Creates a session that was created now, or resumed.
    pub(super) fn at(
        location: SessionLocation,
        resumed: bool,
        options: SessionOptions,
        (policy, rules): (PermissionPolicy, Vec<PermissionRule>),
        key: ProcessKey,
    ) -> Self {
        let cwd = key.cwd.clone();
        let state = AcpSessionState {
            location,
            total: (!resumed).then(Usage::default),
            cost: (!resumed).then_some(0.0),
        };
        let detail = AcpSessionDetail {
            policy,
            rules,
            key,
            resumed,
            state: Mutex::new(state),
        };
        Self::new(options, cwd, detail)
    }

    /// Returns where the session is.
    pub(super) fn location(&self) -> SessionLocation {
        self.detail.state.lock().location.clone()
    }

    /// Records that the session is on another connection now.
    pub(super) fn set_location(&self, location: SessionLocation) {
        let mut state = self.detail.state.lock();
        state.location = location;
        // A new process may or may not continue the counts of the last one.
        (state.total, state.cost) = (None, None);
    }

    /// Returns `true` if a turn was started in the session.
    pub(super) fn has_turns(&self) -> bool {
        self.detail.resumed || self.turn_count() > 0
    }

    /// Records new totals, and returns the old ones.
    pub(super) fn update_totals(
        &self,
        total: Option<Usage>,
        cost: Option<f64>,
    ) -> (Option<Usage>, Option<f64>) {
        let mut state = self.detail.state.lock();
        let before = (state.total.take(), state.cost.take());
        state.total = total.or_else(|| before.0.clone());
        state.cost = cost.or(before.1);
        before
    }
}

/// A session that an agent has stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Its ID, for resuming it.
    pub id: SessionId,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its title, if the agent reports one.
    pub title: Option<String>,
}
