//! Connections that a process tried and was not allowed to make, and problems of its network.

use std::fmt;

use parking_lot::Mutex;

/// How many connections are stored until the caller takes them.
const MAX_BLOCKED: usize = 100;

/// A connection that was not allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockedConnection {
    /// The name or the address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Why it was blocked, as a clause after the host.
    pub reason: &'static str,
}

impl fmt::Display for BlockedConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, reason } = self;
        write!(f, "connection to {host}:{port} blocked: {reason}")
    }
}

/// The blocked connections of one process and the problems of its network, each once.
#[derive(Debug, Default)]
pub(crate) struct BlockedLog(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    seen: Vec<BlockedConnection>,
    taken: usize,
    problems: Vec<&'static str>,
    problems_taken: usize,
}

impl BlockedLog {
    pub(super) fn add(&self, host: &str, port: u16, reason: &'static str) {
        let blocked = BlockedConnection {
            // The text comes from the process and is shown in terminals.
            host: host
                .chars()
                .filter(char::is_ascii_graphic)
                .take(256)
                .collect(),
            port,
            reason,
        };
        let mut state = self.0.lock();
        if state.seen.len() < MAX_BLOCKED && !state.seen.contains(&blocked) {
            tracing::warn!("{blocked}");
            state.seen.push(blocked);
        }
    }

    /// Adds a problem that affects all connections.
    pub(crate) fn add_problem(&self, problem: &'static str) {
        let mut state = self.0.lock();
        if !state.problems.contains(&problem) {
            tracing::warn!("{problem}");
            state.problems.push(problem);
        }
    }

    /// Returns the problems since the last call.
    pub(crate) fn take_problems(&self) -> Vec<&'static str> {
        let mut state = self.0.lock();
        let new = state.problems[state.problems_taken..].to_vec();
        state.problems_taken = state.problems.len();
        new
    }

    /// Returns the connections that were blocked since the last call.
    pub(crate) fn take(&self) -> Vec<BlockedConnection> {
        let mut state = self.0.lock();
        let new = state.seen[state.taken..].to_vec();
        state.taken = state.seen.len();
        new
    }
}
