//! The session of an agent's own program, which a person can continue.

use std::ffi::OsString;
use std::path::Path;

use windlass_agents::AgentContext;
use windlass_agents::program::{can_resume, resume_command};
use windlass_core::ExposeSecret;
use windlass_tasks::{AttemptRecords, Task};

use super::super::app::App;
use super::super::editor;
use super::super::exit::CliError;
use crate::config::AgentConfig;

/// A session of an ended attempt.
#[derive(Debug)]
pub(super) struct ProgramSession {
    agent: AgentConfig,
    context: AgentContext,
    id: String,
}

impl ProgramSession {
    /// Finds the last session of a task's agents.
    pub(super) async fn find(
        app: &App<'_>,
        store: &dyn AttemptRecords,
        task: &Task,
    ) -> Result<Self, CliError> {
        let attempts = store.attempts(task.id).await?.into_iter().rev();
        let mut sessions = attempts.filter_map(|attempt| attempt.session);
        let Some(session) = sessions.find(|session| is_plain(&session.id)) else {
            return Err(CliError::usage(format!(
                "no attempt at task {0} has a session to continue: use windlass task open {0} without --agent",
                task.id
            )));
        };
        let agent = app.catalog()?.find(Some(&session.agent))?;
        if !can_resume(&agent.backend) {
            return Err(CliError::usage(format!(
                "{} has no program that continues a session: use windlass task open {} without --agent",
                agent.name, task.id
            )));
        }
        let context = app.machine.clone().map_err(CliError::usage)?;
        let id = session.id;
        Ok(Self { agent, context, id })
    }

    /// Runs the program in this directory until it ends.
    pub(super) async fn run(self, dir: &Path) -> Result<(), CliError> {
        let Self { agent, context, id } = self;
        let place = (id.as_str(), dir);
        let command = resume_command(&agent.backend, &agent.table(), &context, place)?;
        let Some(command) = command else {
            return Ok(());
        };
        let keys = command.keys.iter();
        let keys =
            keys.map(|(name, key)| (OsString::from(name), OsString::from(key.expose_secret())));
        let variables = command.env.into_iter();
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let variables = variables.chain(keys).collect();
        let args = command.args.into_iter().map(OsString::from).collect();
        // The exit code of the program does not depend on the edits.
        editor::run(command.program.into(), args, variables, dir).await?;
        Ok(())
    }
}

/// Returns `true` if an id cannot be taken for an option.
fn is_plain(id: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !id.is_empty() && !id.starts_with('-') && id.bytes().all(is_word)
}
