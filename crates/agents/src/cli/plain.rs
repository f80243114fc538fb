//! One turn of an agent that is told a whole conversation and whose whole output is the answer.

use std::sync::Arc;

use futures::{StreamExt, stream};
use windlass_core::{
    Aftermath, AgentEvent, Emitted, Error, EventStream, Prompt, Result, SessionId,
};
use windlass_sandbox::{Output, Spec, Stdin, Why};

use super::call::Call;
use super::driver::Driver;
use super::failure;
use super::launch::Launch;
use super::parser::Ended;
use super::program::{Found, not_started};
use super::transcript::{self, Message};

/// One argument may hold so much, with the zero at its end: Linux runs nothing that has a longer one.
const ARGUMENT_BYTES: usize = 128 << 10;

/// Begins a turn.
pub(super) fn begin(
    driver: Arc<Driver>,
    found: &Found,
    id: &SessionId,
    prompt: Prompt,
) -> Result<EventStream> {
    let session = driver.sessions.get(driver.profile.name, id)?;
    let stop = session.begin_turn();
    let text = conversation(prompt.text);
    let spec = driver.call(found, &session, |call| spec(&driver, found, call, text))?;
    let turn = async move {
        let profile = driver.profile;
        let events = tokio::select! {
            ran = driver.context.sandbox().run(spec) => match ran {
                Ok(output) => events(profile.name, &output),
                Err(error) => vec![not_started(profile.name, profile.install, &error).into()],
            },
            () = stop.notified() => vec![Error::Cancelled.into()],
        };
        stream::iter(events.into_iter().map(Emitted::from))
    };
    Ok(Box::pin(stream::once(turn).flatten()))
}

/// A prompt that is no transcript is the one thing that a user says.
fn conversation(prompt: String) -> String {
    match transcript::parse(&prompt) {
        Some(messages) if !messages.is_empty() => prompt,
        _ => transcript::render(&[Message::user(prompt)]),
    }
}

/// The command: the conversation as an argument, or as input where it is too long for one.
fn spec(driver: &Driver, found: &Found, call: &Call<'_>, text: String) -> Result<Spec> {
    let mut command = (found.transport.command)(call);
    let fits = text.len() < ARGUMENT_BYTES;
    let stdin = match fits {
        true => Stdin::Null,
        false => Stdin::Bytes(text.clone().into_bytes()),
    };
    let prompt = ["-p".to_owned()].into_iter().chain(fits.then_some(text));
    command.args = prompt.chain(command.args).collect();
    let launch = Launch {
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
        Why::Exited if exit.code == 0 => AgentEvent::result(stdout.trim_end()),
        Why::Exited => {
            // What it prints in place of an answer is the reason, where it gives no other.
            let said = Some(stdout.as_str()).filter(|_| stderr.trim().is_empty());
            let code = exit.code;
            let stderr = &stderr;
            failure::silent(agent, said, &Ended { code, stderr })
        }
        Why::Stopped => Error::Cancelled.into(),
        _ => AgentEvent::from(Error::Timeout {
            what: agent.to_owned(),
            after: exit.duration,
        }),
    };
    let left = Aftermath {
        exit_code: Some(exit.code),
        stderr: Some(failure::quiet(&stderr)).filter(|said| !said.is_empty()),
        ..Aftermath::default()
    };
    let (before, end) = left.wait(failure::wait(&end)).before(end);
    before.into_iter().chain([end]).collect()
}
