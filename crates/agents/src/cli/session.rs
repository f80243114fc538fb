//! What the driver knows about a session.

use std::path::PathBuf;

use parking_lot::Mutex;
use windlass_core::{Error, Result, SessionId, SessionOptions};

use super::run_context::SessionStart;
use super::tokens::RunningTotal;
use crate::program::session::ProtocolSession;
use crate::settings::check_argument;

/// One conversation.
pub(super) type CliSession = ProtocolSession<Mutex<CliSessionState>>;

#[derive(Debug)]
pub(super) struct CliSessionState {
    /// The agent's ID of the session, if known.
    name: Option<String>,
    /// Whether the agent has the session, so that the next turn resumes it.
    exists: bool,
    /// Total usage so far; `None` if it is unknown because the session started elsewhere.
    total: Option<RunningTotal>,
}

impl CliSession {
    /// Creates a session that the agent does not have yet, with an ID if the client chose one.
    pub(super) fn fresh(options: SessionOptions, cwd: PathBuf, name: Option<String>) -> Self {
        let state = CliSessionState {
            name,
            exists: false,
            total: Some(RunningTotal::default()),
        };
        Self::new(options, cwd, Mutex::new(state))
    }

    /// Creates a session that the agent already has, with its total usage if known.
    pub(super) fn resumed(
        options: SessionOptions,
        cwd: PathBuf,
        name: String,
        total: Option<RunningTotal>,
    ) -> Self {
        let state = CliSessionState {
            name: Some(name),
            exists: true,
            total,
        };
        Self::new(options, cwd, Mutex::new(state))
    }

    /// Records the agent's ID of the session. Returns `true` if it differs from the expected one.
    pub(super) fn set_name(&self, name: &str) -> bool {
        let mut state = self.detail.lock();
        state.exists = true;
        let is_other = state.name.as_deref() != Some(name);
        state.name = Some(name.to_owned());
        is_other
    }

    /// Records that the agent has the session although it did not report its ID.
    pub(super) fn mark_existing(&self) {
        self.detail.lock().exists = true;
    }

    /// Returns `true` if the agent has the session.
    pub(super) fn exists(&self) -> bool {
        self.detail.lock().exists
    }

    pub(super) fn set_total(&self, total: RunningTotal) {
        self.detail.lock().total = Some(total);
    }

    /// Returns the agent's ID of the session, if known.
    pub(super) fn name(&self) -> Option<String> {
        self.detail.lock().name.clone()
    }

    pub(super) fn total(&self) -> Option<RunningTotal> {
        self.detail.lock().total
    }

    /// Calls `work` with how the next run creates or resumes the session.
    pub(super) fn with_start<T>(&self, work: impl FnOnce(SessionStart<'_>) -> T) -> T {
        let (name, exists) = {
            let state = self.detail.lock();
            (state.name.clone(), state.exists)
        };
        work(match &name {
            None => SessionStart::Fresh,
            Some(name) if exists => SessionStart::Resume(name),
            Some(name) => SessionStart::Named(name),
        })
    }
}

/// Checks that a session's ID, which becomes an argument, has the form of an ID.
pub(super) fn check_name(id: &SessionId) -> Result<()> {
    let name = id.as_str();
    let is_name = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'));
    match check_argument(name) {
        Ok(()) if is_name && name.len() <= 256 => Ok(()),
        Err(problem) => Err(Error::InvalidInput(format!("the session ID {problem}"))),
        Ok(()) => Err(Error::InvalidInput(
            "the session ID may contain only letters, digits and - _ . : and at most 256 characters".to_owned(),
        )),
    }
}
