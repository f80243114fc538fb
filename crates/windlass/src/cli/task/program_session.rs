//! The session of an agent's own program, which a person can continue.

use std::ffi::OsString;

use windlass_tasks::{AttemptRecords, Task};

use super::super::app::App;
use super::super::exit::CliError;

/// The programs that can continue a session, by backend: the arguments before the id of the session.
const PROGRAMS: &[(&str, &str, &[&str])] = &[
    ("codex", "codex", &["resume"]),
    ("claude", "claude", &["--resume"]),
];

/// A session of an ended attempt.
#[derive(Debug)]
pub(super) struct ProgramSession {
    pub(super) program: &'static str,
    args: &'static [&'static str],
    id: String,
    /// The attempt to which it belongs.
    pub(super) attempt: u32,
}

impl ProgramSession {
    /// Finds the last session of a task's agents.
    pub(super) async fn find(
        app: &App<'_>,
        store: &dyn AttemptRecords,
        task: &Task,
    ) -> Result<Self, CliError> {
        let attempts = store.attempts(task.id).await?.into_iter().rev();
        let mut sessions = attempts.filter_map(|attempt| Some((attempt.number, attempt.session?)));
        let Some((attempt, session)) = sessions.find(|(_, session)| is_plain(&session.id)) else {
            return Err(CliError::usage(format!(
                "no attempt at task {0} has a session to continue: use windlass task open {0} without --agent",
                task.id
            )));
        };
        let agent = app.catalog()?.find(Some(&session.agent))?;
        let known = PROGRAMS
            .iter()
            .find(|(backend, ..)| *backend == agent.backend);
        let Some((_, program, args)) = known else {
            return Err(CliError::usage(format!(
                "{} has no program that continues a session: use windlass task open {} without --agent",
                agent.name, task.id
            )));
        };
        Ok(Self {
            program,
            args,
            id: session.id,
            attempt,
        })
    }

    pub(super) fn args(&self) -> Vec<OsString> {
        let args = self.args.iter().copied().chain([self.id.as_str()]);
        args.map(OsString::from).collect()
    }
}

/// Returns `true` if an id cannot be taken for an option.
fn is_plain(id: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !id.is_empty() && !id.starts_with('-') && id.bytes().all(is_word)
}
