//! One turn of an agent that gets the whole conversation and outputs only the answer.

use std::sync::Arc;

use futures::{StreamExt, stream};
use windlass_core::limits::EVENT_BYTES;
use windlass_core::{
    AgentEvent, BackendEvent, Error, EventStream, Prompt, Result, SessionId, TurnDiagnostics,
};
use windlass_sandbox::{ExitReason, Output, Stdin};

use super::driver::CliDriver;
use super::installation::CliInstallation;
use super::run_context::RunContext;
use super::session::CliSession;
use super::transcript::{self, TranscriptMessage};
use crate::program::launch::LaunchSpec;
use crate::program::{ProcessEnd, failure};

/// Maximum size of one argument, including the terminating zero. Linux does not start a program with a longer
/// one.
const MAX_ARG_BYTES: usize = 128 << 10;

/// Maximum size of an answer. It fits into one event together with the diagnostics, so that a long answer is cut only
/// once, where its whole length is known.
const ANSWER_BYTES: usize = EVENT_BYTES - (32 << 10);

/// Starts a turn.
pub(super) fn start(
    driver: Arc<CliDriver>,
    installation: &CliInstallation,
    id: &SessionId,
    prompt: Prompt,
) -> Result<EventStream> {
    let session = driver.sessions.get(driver.profile.name(), id)?;
    let stop = session.begin_turn();
    let text = conversation(prompt.text);
    let spec = driver.with_run_context(installation, &session, |run| {
        spec(&driver, installation, (&session, run), text)
    })?;
    let turn = async move {
        let program = driver.profile.program;
        let events = tokio::select! {
            ran = driver.processes.run(program, &driver.context, spec) => match ran {
                Ok(output) => events(program.name, &output),
                Err(error) => vec![error.into()],
            },
            () = stop.notified() => vec![Error::Cancelled.into()],
        };
        stream::iter(events.into_iter().map(BackendEvent::from))
    };
    Ok(Box::pin(stream::once(turn).flatten()))
}

/// Returns a prompt that is a transcript unchanged, and any other prompt as a transcript with one user message.
fn conversation(prompt: String) -> String {
    match transcript::parse(&prompt) {
        Some(messages) if !messages.is_empty() => prompt,
        _ => transcript::render(&[TranscriptMessage::user(prompt)]),
    }
}

/// Builds the command. The conversation is an argument, or standard input if it is too long for one.
fn spec(
    driver: &CliDriver,
    installation: &CliInstallation,
    (session, run): (&CliSession, &RunContext<'_>),
    text: String,
) -> Result<LaunchSpec> {
    let mut command = (installation.transport.command)(run);
    let fits = text.len() < MAX_ARG_BYTES;
    let stdin = if fits {
        Stdin::Null
    } else {
        Stdin::Bytes(text.clone().into_bytes())
    };
    let prompt = ["-p".to_owned()].into_iter().chain(fits.then_some(text));
    command.args = prompt.chain(command.args).collect();
    let launch = driver.launch(installation, session, run, (command, stdin))?;
    let mut launch = launch.spec()?;
    launch.spec = launch.spec.output_bytes(ANSWER_BYTES);
    Ok(launch)
}

/// Converts the output of a run to events. The diagnostics are attached to the result, or precede the error.
fn events(agent: &str, output: &Output) -> Vec<AgentEvent> {
    let (stdout, stderr) = (output.stdout.text(), output.stderr.text());
    let exit = output.exit;
    let end = match exit.reason {
        ExitReason::Exited if exit.code == 0 => AgentEvent::result(stdout.trim_end()),
        ExitReason::Exited => {
            // Without stderr, what it prints instead of an answer is the reason.
            let message = Some(stdout.as_str()).filter(|_| stderr.trim().is_empty());
            let code = exit.code;
            let stderr = &stderr;
            failure::no_result_error(agent, message, &ProcessEnd { code, stderr })
        }
        ExitReason::Stopped => Error::Cancelled.into(),
        ExitReason::Limit(exceeded) => failure::limit_error(agent, exceeded),
        _ => AgentEvent::from(Error::Timeout {
            what: agent.to_owned(),
            after: exit.duration,
        }),
    };
    let diagnostics = TurnDiagnostics {
        exit_code: Some(exit.code),
        stderr: Some(failure::relevant_stderr(&stderr)).filter(|stderr| !stderr.is_empty()),
        ..TurnDiagnostics::default()
    };
    let (before, end) = diagnostics
        .with_retry_after(failure::retry_after(&end))
        .attach_to(end);
    before.into_iter().chain([end]).collect()
}
