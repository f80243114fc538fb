//! The part of an invocation that both backends share.

use std::path::Path;
use std::time::Duration;

use windlass_core::{AgentInvocation, DirAccess, ErrorCode, WorkLabel};
use windlass_sandbox::{ExitReason, Output, Stdin};

use super::error::InvocationError;
use super::workdir::validate_workdir;
use crate::program::find::not_started;
use crate::program::launch::Launch;
use crate::program::model_access::ModelAccess;
use crate::program::{AgentProgram, CommandLine, failure};
use crate::{AgentContext, ProgramSettings};

/// Default time limit of a command.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// One invocation.
pub(super) struct CliRun<'a> {
    pub(super) task: &'a str,
    pub(super) program: &'static AgentProgram,
    /// The program, as it is started.
    pub(super) path: &'a str,
    pub(super) context: &'a AgentContext,
    pub(super) settings: &'a ProgramSettings,
    pub(super) command: CommandLine,
    /// What the agent may change in the working directory.
    pub(super) access: DirAccess,
    pub(super) prompt: &'a str,
    pub(super) read: Option<&'a Path>,
}

impl CliRun<'_> {
    /// Runs the command in this directory. An empty output is not a failure; a nonzero exit code is.
    pub(super) async fn run(self, cwd: &Path) -> Result<AgentInvocation, InvocationError> {
        let failed = |problem: String, code| failure(self.task, problem, code);
        let home = self.context.sandbox().host().home();
        let cwd = validate_workdir(cwd, home)
            .map_err(|problem| failed(problem, ErrorCode::BackendError))?;
        let timeout = self.settings.timeout().unwrap_or(DEFAULT_TIMEOUT);
        let (settings, context) = (self.settings, self.context);
        let work = WorkLabel::default();
        let model_access = ModelAccess::open(self.program, settings, context, &work)
            .map_err(|error| failed(error.to_string(), error.code()))?;
        let launch = Launch {
            program: self.program,
            path: self.path,
            context: self.context,
            settings: self.settings,
            model: None,
            cwd: &cwd,
            access: self.access,
            readable: &[],
            command: self.command,
            stdin: Stdin::Bytes(self.prompt.as_bytes().to_vec()),
            files: self.read.into_iter().collect(),
            servers: &[],
            home_files: Vec::new(),
            model_access,
        };
        let launched = launch.spec();
        let launched = launched.map_err(|error| failed(error.to_string(), error.code()))?;
        // The lease ends with this function.
        let (spec, args, _lease) = (launched.spec, launched.args, launched.lease);
        let ran = self.context.sandbox().run(spec.deadline(timeout)).await;
        let output = ran.map_err(|error| {
            let error = not_started(self.program, &error);
            failed(error.to_string(), error.code())
        })?;
        let invocation = AgentInvocation {
            command: std::iter::once(self.path.to_owned()).chain(args).collect(),
            stdout: output.stdout.text(),
            stderr: output.stderr.text(),
            duration: output.exit.duration,
        };
        match exit_error(&output, timeout) {
            None => Ok(invocation),
            Some((problem, code)) => Err(InvocationError {
                invocation: Some(invocation),
                ..failed(problem, code)
            }),
        }
    }
}

/// Returns the error that the command's exit represents, or `None` if it succeeded.
fn exit_error(output: &Output, timeout: Duration) -> Option<(String, ErrorCode)> {
    match output.exit.reason {
        ExitReason::Exited if output.exit.code == 0 => None,
        ExitReason::Exited => {
            let stderr = output.stderr.text();
            // Only the last line: the lines above may repeat the prompt, which can contain any text.
            let last = stderr
                .trim()
                .lines()
                .last()
                .unwrap_or("no output on stderr");
            let problem = format!(
                "the agent ended with exit code {}: {last}",
                output.exit.code
            );
            Some((problem, failure::code(last)))
        }
        ExitReason::Limit(exceeded) => {
            let problem = format!("the agent was killed: {exceeded}");
            Some((problem, ErrorCode::BudgetExceeded))
        }
        ExitReason::Stopped => Some(("cancelled".to_owned(), ErrorCode::Cancelled)),
        _ => {
            let problem = format!("the agent took longer than {} s", timeout.as_secs_f64());
            Some((problem, ErrorCode::Timeout))
        }
    }
}

pub(super) fn failure(task: &str, problem: String, code: ErrorCode) -> InvocationError {
    InvocationError {
        task: task.to_owned(),
        problem,
        code,
        invocation: None,
    }
}
