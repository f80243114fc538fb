//! One turn of an agent that is told a whole conversation and whose whole output is the answer.

use std::sync::Arc;

use futures::{StreamExt, stream};
use windlass_core::{
    AgentEvent, BackendEvent, Error, EventStream, Prompt, Result, SessionId, TurnDiagnostics,
};
use windlass_sandbox::{CommandSpec, ExitReason, Output, Stdin};

use super::driver::CliDriver;
use super::failure;
use super::launch::CliLaunch;
use super::parser::ProcessEnd;
use super::program::{CliInstallation, not_started};
use super::run_context::RunContext;
use super::transcript::{self, TranscriptMessage};

/// One argument may hold so much, with the zero at its end: Linux runs nothing that has a longer one.
const MAX_ARG_BYTES: usize = 128 << 10;

/// Begins a turn.
pub(super) fn start(
    driver: Arc<CliDriver>,
    found: &CliInstallation,
    id: &SessionId,
    prompt: Prompt,
) -> Result<EventStream> {
    let session = driver.sessions.get(driver.profile.name, id)?;
    let stop = session.begin_turn();
    let text = conversation(prompt.text);
    let spec = driver.with_run_context(found, &session, |call| spec(&driver, found, call, text))?;
    let turn = async move {
        let profile = driver.profile;
        let events = tokio::select! {
            ran = driver.context.sandbox().run(spec) => match ran {
                Ok(output) => events(profile.name, &output),
                Err(error) => vec![not_started(profile.name, profile.install, &error).into()],
            },
            () = stop.notified() => vec![Error::Cancelled.into()],
        };
        stream::iter(events.into_iter().map(BackendEvent::from))
    };
    Ok(Box::pin(stream::once(turn).flatten()))
}

/// A prompt that is no transcript is the one thing that a user says.
fn conversation(prompt: String) -> String {
    match transcript::parse(&prompt) {
        Some(messages) if !messages.is_empty() => prompt,
        _ => transcript::render(&[TranscriptMessage::user(prompt)]),
    }
}

/// The command: the conversation as an argument, or as input where it is too long for one.
fn spec(
    driver: &CliDriver,
    found: &CliInstallation,
    call: &RunContext<'_>,
    text: String,
) -> Result<CommandSpec> {
    let mut command = (found.transport.command)(call);
    let fits = text.len() < MAX_ARG_BYTES;
    let stdin = match fits {
        true => Stdin::Null,
        false => Stdin::Bytes(text.clone().into_bytes()),
    };
    let prompt = ["-p".to_owned()].into_iter().chain(fits.then_some(text));
    command.args = prompt.chain(command.args).collect();
    let launch = CliLaunch {
        profile: driver.profile,
        program: &found.program,
        context: &driver.context,
        settings: &driver.settings,
        cwd: call.cwd,
        command,
        stdin,
        files: Vec::new(),
        programs: Vec::new(),
    };
    Ok(launch.spec()?.0)
}

/// What a run means. What it left behind stands in the result, or before the error.
fn events(agent: &str, output: &Output) -> Vec<AgentEvent> {
    let (stdout, stderr) = (output.stdout.text(), output.stderr.text());
    let exit = output.exit;
    let end = match exit.why {
        ExitReason::Exited if exit.code == 0 => AgentEvent::result(stdout.trim_end()),
        ExitReason::Exited => {
            // What it prints in place of an answer is the reason, where it gives no other.
            let said = Some(stdout.as_str()).filter(|_| stderr.trim().is_empty());
            let code = exit.code;
            let stderr = &stderr;
            failure::no_result_error(agent, said, &ProcessEnd { code, stderr })
        }
        ExitReason::Stopped => Error::Cancelled.into(),
        _ => AgentEvent::from(Error::Timeout {
            what: agent.to_owned(),
            after: exit.duration,
        }),
    };
    let left = TurnDiagnostics {
        exit_code: Some(exit.code),
        stderr: Some(failure::relevant_stderr(&stderr)).filter(|said| !said.is_empty()),
        ..TurnDiagnostics::default()
    };
    let (before, end) = left
        .with_retry_after(failure::retry_after(&end))
        .attach_to(end);
    before.into_iter().chain([end]).collect()
}
