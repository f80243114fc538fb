//! `windlass ask`: one turn on any agent.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use windlass_core::{
    AgentHandle, Error, EventReceiver, PermissionPolicy, Prompt, SessionId, SessionOptions,
};

use super::app::App;
use super::approver;
use super::exit::{CliError, Exit};
use super::follow::{StructuredRounds, follow_turn};
use super::interrupt::Interrupts;
use super::prompt_text;
use super::schema::SchemaArgs;
use super::turn_printer::TurnPrinter;
use crate::config::AgentConfig;

#[derive(Debug, Args)]
pub(super) struct Ask {
    /// The agent; without it the configured default
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Go on in this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Work in this folder
    #[arg(long, value_name = "DIR", default_value = ".")]
    cwd: PathBuf,
    /// Give up after this many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    timeout: Option<Duration>,
    /// What to print: the answer, one JSON object at the end, or every event as a line of JSON
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputMode,
    #[command(flatten)]
    schema: SchemaArgs,
    /// What the agent should do; - reads it from stdin
    prompt: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputMode {
    /// The answer as it is written; tools on stderr.
    #[default]
    Text,
    /// One object when the turn is over.
    Json,
    /// Every event, one line each.
    Events,
}

impl Ask {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let config = app.config()?;
        let agent = app.find_agent(&config, self.agent.as_deref())?;
        let handle = app.open_agent(&config, &agent)?;
        self.run_on(app, &handle, &agent).await
    }

    /// The agent that is named, if one is.
    pub(super) fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// Puts the prompt to this agent and shows what it does.
    pub(super) async fn run_on(
        self,
        app: &App<'_>,
        handle: &AgentHandle,
        agent: &AgentConfig,
    ) -> Result<Exit, CliError> {
        let cwd = absolute_dir(&self.cwd)?;
        let from_stdin = self.prompt == "-";
        let text = prompt_text::read(self.prompt, std::io::stdin())?;
        let dialog = self.schema.dialog(&text, handle.capabilities())?;
        let mut options = SessionOptions::in_dir(cwd);
        options.approver = approver::terminal_approver(app.console, from_stdin);
        if options.approver.0.is_some() {
            options.permissions = PermissionPolicy::Ask;
        }
        options.model = agent.model().map(str::to_owned);
        if let Some(dialog) = &dialog {
            options = dialog.session_options(options);
        }
        let mut interrupts = Interrupts::listen()?;
        let session = tokio::select! {
            session = open_session(handle, self.session, options) => session?,
            () = interrupts.next() => return Err(Error::Cancelled.into()),
        };
        let timeout = self.timeout;
        let transcript = TurnPrinter::new(app.console, self.output, &agent.name);
        let Some(dialog) = dialog else {
            let turn = handle.prompt(&session, Prompt { text, timeout }).await?;
            return follow_to_end(handle, &session, turn, transcript, &mut interrupts).await;
        };
        let rounds = StructuredRounds {
            handle,
            session,
            transcript,
            interrupts,
            timeout,
        };
        rounds.run(dialog).await
    }
}

async fn open_session(
    handle: &AgentHandle,
    session: Option<String>,
    options: SessionOptions,
) -> Result<SessionId, Error> {
    match session.map(SessionId::from) {
        Some(session) => {
            handle.load_session(&session, options).await?;
            Ok(session)
        }
        None => handle.new_session(options).await,
    }
}

/// Shows the one turn that there is, and says how the program ends.
pub(super) async fn follow_to_end(
    handle: &AgentHandle,
    session: &SessionId,
    turn: EventReceiver,
    mut transcript: TurnPrinter<'_>,
    interrupts: &mut Interrupts,
) -> Result<Exit, CliError> {
    let watched = follow_turn(handle, session, turn, &mut transcript, interrupts, |_| {}).await?;
    match watched {
        ControlFlow::Continue(()) => transcript.finish(),
        ControlFlow::Break(exit) => Ok(exit),
    }
}

/// The folder as an absolute path, if it is one.
pub(super) fn absolute_dir(path: &Path) -> Result<PathBuf, CliError> {
    let shown = path.display();
    let next = "pass another with --cwd";
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => std::path::absolute(path)
            .map_err(|error| CliError::usage(format!("the working directory {shown}: {error}"))),
        Ok(_) => Err(CliError::usage(format!(
            "the working directory {shown} is a file: {next}"
        ))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(CliError::usage(
            format!("the working directory {shown} does not exist: create it or {next}"),
        )),
        Err(error) => Err(CliError::usage(format!(
            "the working directory {shown} cannot be used: {error}; {next}"
        ))),
    }
}

/// A time a person may mean: more than nothing, at most a week.
fn seconds(text: &str) -> Result<Duration, String> {
    const WEEK: f64 = 7.0 * 24.0 * 3600.0;
    let seconds: f64 = text
        .parse()
        .map_err(|_| "expected a number of seconds".to_owned())?;
    if seconds > 0.0 && seconds <= WEEK {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("expected more than 0 and at most a week (604800)".to_owned())
    }
}
