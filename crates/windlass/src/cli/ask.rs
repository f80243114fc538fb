//! `windlass ask`: runs one turn on an agent.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use windlass_core::{
    AgentHandle, Clock, DirAccess, Error, ErrorCode, EventReceiver, PermissionPolicy, Prompt,
    SessionId, SessionOptions, SystemClock, escape_line,
};

use super::app::App;
use super::approver;
use super::default_agent;
use super::exit::{CliError, Exit};
use super::follow::{StructuredRounds, follow_turn};
use super::interrupt::Interrupts;
use super::prompt_text;
use super::schema::SchemaArgs;
use super::turn_printer::{OutputMode, TurnPrinter};
use super::usage;
use crate::config::AgentConfig;

#[derive(Debug, Args)]
pub(super) struct Ask {
    /// Agent to use (default: the configured agent)
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Resume this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Working directory of the agent
    #[arg(long, value_name = "DIR", default_value = ".")]
    cwd: PathBuf,
    /// Timeout in seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Output format: the answer as text, one JSON object at the end, or every event as a line of JSON
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputMode,
    /// Forbid the agent to change files
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    schema: SchemaArgs,
    /// Prompt for the agent; - reads it from stdin
    prompt: String,
}

impl Ask {
    /// Returns the agent's directory.
    pub(super) fn cwd(&self) -> Result<PathBuf, CliError> {
        absolute_dir(&self.cwd)
    }

    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let name = default_agent::choose(app, self.agent.as_deref()).await?;
        let agent = app.find_agent(name.as_deref())?;
        let handle = app.open_agent(&agent)?;
        self.run_on(app, &handle, &agent).await
    }

    /// Returns the agent's name, if given.
    pub(super) fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// Sends the prompt to this agent and prints its output.
    pub(super) async fn run_on(
        self,
        app: &App<'_>,
        handle: &AgentHandle,
        agent: &AgentConfig,
    ) -> Result<Exit, CliError> {
        let cwd = self.cwd()?;
        usage::store_calls(app).await;
        let started = SystemClock::new().now();
        let exit = self.run_in(app, handle, agent, cwd.clone()).await;
        if exit.is_ok() {
            // Some agents store the session as they exit.
            handle.close().await;
        }
        for path in windlass_workspace::new_repositories(&cwd, started) {
            let path = path.display().to_string();
            let path = escape_line(&path);
            app.console.notice(&format!(
                "the agent created a git repository in {path}: git commands there run what its settings name"
            ));
        }
        exit
    }

    async fn run_in(
        self,
        app: &App<'_>,
        handle: &AgentHandle,
        agent: &AgentConfig,
        cwd: PathBuf,
    ) -> Result<Exit, CliError> {
        let from_stdin = self.prompt == "-";
        let text = prompt_text::read(self.prompt, std::io::stdin())?;
        let call = self.schema.structured_call(&text, handle)?;
        let mut options = SessionOptions::in_dir(cwd);
        options.approver = approver::terminal_approver(app.console, from_stdin);
        if options.approver.0.is_some() {
            options.permissions = PermissionPolicy::Ask;
        }
        if self.read_only {
            options.access = DirAccess::ReadOnly;
        }
        options.model.clone_from(&agent.model);
        if let Some(call) = &call {
            options = call.session_options(options);
        }
        let access = agent.access(&options);
        let mut interrupts = Interrupts::listen()?;
        // The time limit is that of the command: starting the agent counts too.
        let clock = SystemClock::new();
        let limit = self.timeout.or(agent.timeout());
        let deadline = async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        let session = tokio::select! {
            session = open_session(handle, self.session, options) => session?,
            () = interrupts.next() => return Err(Error::Cancelled.into()),
            () = deadline => {
                let seconds = limit.unwrap_or_default().as_secs();
                let message = format!("{} did not start within {seconds} s", agent.name);
                return Err(Error::agent(ErrorCode::Timeout, message).into());
            }
        };
        let elapsed = Duration::from_secs(clock.elapsed().as_secs());
        let timeout = limit.map(|limit| limit.saturating_sub(elapsed));
        let printer = TurnPrinter::new(app.console, self.output, &agent.name);
        let printer = printer.with_access(access, self.read_only);
        let Some(call) = call else {
            let turn = {
                let prompt = Prompt {
                    text,
                    timeout,
                    ..Prompt::default()
                };
                handle.prompt(&session, prompt).await?
            };
            return follow_to_end(handle, &session, turn, printer, &mut interrupts).await;
        };
        let rounds = StructuredRounds {
            handle,
            session,
            printer,
            interrupts,
            timeout,
            clock: SystemClock::new(),
        };
        rounds.run(call).await
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

/// Prints a single turn to its end and returns the exit code.
pub(super) async fn follow_to_end(
    handle: &AgentHandle,
    session: &SessionId,
    turn: EventReceiver,
    mut printer: TurnPrinter<'_>,
    interrupts: &mut Interrupts,
) -> Result<Exit, CliError> {
    let outcome = follow_turn(handle, session, turn, &mut printer, interrupts, |_| {}).await?;
    match outcome {
        ControlFlow::Continue(()) => printer.finish(),
        ControlFlow::Break(exit) => Ok(exit),
    }
}

/// Returns the absolute path of a directory, or an error if it is not one.
pub(super) fn absolute_dir(path: &Path) -> Result<PathBuf, CliError> {
    let shown = path.display();
    let advice = "pass another with --cwd";
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => std::path::absolute(path)
            .map_err(|error| CliError::usage(format!("the working directory {shown}: {error}"))),
        Ok(_) => Err(CliError::usage(format!(
            "the working directory {shown} is a file: {advice}"
        ))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(CliError::usage(
            format!("the working directory {shown} does not exist: create it or {advice}"),
        )),
        Err(error) => Err(CliError::usage(format!(
            "the working directory {shown} cannot be used: {error}; {advice}"
        ))),
    }
}

/// Parses a timeout: more than 0 seconds, at most a week.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
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
