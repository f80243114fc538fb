//! Runs a command in the sandbox, within its limits.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::DirAccess;
use windlass_core::limits::OUTPUT_BYTES;
use windlass_sandbox::{CommandSpec, Error, ExitReason, Output, ProcessLimits, Profile, Sandbox};

use crate::results::ShellResult;

/// The limits of a command. Those of the sandbox apply in addition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLimits {
    /// The timeout, if the model sets none.
    pub deadline: Duration,
    /// The maximum timeout that a model can set.
    pub max_deadline: Duration,
    /// The maximum size of both outputs together. Each one is truncated to its head and tail.
    pub output_bytes: usize,
}

impl Default for CommandLimits {
    /// A timeout of two minutes, at most ten; 1 MiB of output.
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(120),
            max_deadline: Duration::from_secs(600),
            output_bytes: OUTPUT_BYTES,
        }
    }
}

/// A directory with its sandbox and limits.
#[derive(Debug)]
pub(crate) struct CommandRunner {
    /// The sandbox, or the reason why no command is run.
    sandbox: Result<Sandbox, String>,
    dir: PathBuf,
    access: DirAccess,
    limits: CommandLimits,
    pub(super) allowed: Vec<String>,
}

impl CommandRunner {
    pub(crate) fn new(
        sandbox: Result<Sandbox, String>,
        dir: &Path,
        access: DirAccess,
        limits: CommandLimits,
        allowed: Vec<String>,
    ) -> Self {
        Self {
            sandbox,
            dir: dir.to_owned(),
            access,
            limits,
            allowed,
        }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Creates a command in the directory, with an environment in which programs do not wait for input.
    pub(super) fn spec(&self, program: &str, seconds: Option<u64>) -> CommandSpec {
        // Some models pass 0 for an unspecified timeout.
        let requested = seconds.filter(|seconds| *seconds > 0);
        let deadline = requested.map_or(self.limits.deadline, Duration::from_secs);
        let limits = ProcessLimits {
            deadline: deadline.min(self.limits.max_deadline),
            output_bytes: self.limits.output_bytes / 2,
            ..ProcessLimits::default()
        };
        // The clone of an attempt shares git objects, without which git has no history.
        let shared = windlass_workspace::readable_dirs(&self.dir).into_iter();
        let profile = shared.fold(Profile::tool().access(self.access), Profile::read);
        CommandSpec::new(program, &self.dir, profile)
            .env("PAGER", "cat")
            .env("GIT_PAGER", "cat")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_EDITOR", "true")
            .env("TERM", "dumb")
            .env("NO_COLOR", "1")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .limits(limits)
    }

    /// Runs the first command with a program that exists.
    pub(super) async fn run(&self, choices: Vec<CommandSpec>) -> ShellResult {
        let sandbox = match &self.sandbox {
            Ok(sandbox) => sandbox,
            Err(reason) => return ShellResult::failed(reason.clone(), 126),
        };
        let mut missing = String::new();
        for spec in choices {
            match sandbox.run(spec).await {
                Ok(output) => return self.shell_result(&output),
                Err(error @ (Error::ProgramNotFound { .. } | Error::ProgramHidden { .. })) => {
                    missing = error.to_string();
                }
                Err(error @ Error::NoIsolation { .. }) => {
                    return ShellResult::failed(error.to_string(), 126);
                }
                Err(error) => return ShellResult::failed(error.to_string(), 1),
            }
        }
        ShellResult::failed(missing, 127)
    }

    fn shell_result(&self, output: &Output) -> ShellResult {
        let mut stderr = output.stderr.text();
        let mut code = output.exit.code;
        match output.exit.reason {
            ExitReason::Exited => {}
            ExitReason::Limit(exceeded) => stderr += &format!("[killed: {exceeded}]"),
            _ => {
                let after = output.exit.duration.as_secs_f64();
                stderr += &format!("[stopped: it took longer than {after:.0} s]");
                code = 124;
            }
        }
        ShellResult {
            ok: output.exit.success(),
            stdout: output.stdout.text(),
            stderr,
            code,
        }
    }
}
