//! Runs one command behind the walls, within its limits.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::limits::OUTPUT_BYTES;
use windlass_sandbox::{
    CommandSpec, Error, ExitReason, Output, ProcessLimits as Bounds, Profile, Sandbox,
};

use crate::results::ShellResult;

/// What a command that a model asked for may use up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLimits {
    /// The time it has when the model does not say.
    pub deadline: Duration,
    /// The most time a model can give it.
    pub longest: Duration,
    /// What is kept of both outputs together, head and tail of each.
    pub output_bytes: usize,
    /// How many processes and threads there may be at once.
    pub processes: u64,
    /// The largest file it may write.
    pub file_bytes: u64,
}

impl Default for CommandLimits {
    /// Two minutes, at most ten; 1 MiB of output; 1,024 processes; files of 2 GiB.
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(120),
            longest: Duration::from_secs(600),
            output_bytes: OUTPUT_BYTES,
            processes: 1024,
            file_bytes: 2 << 30,
        }
    }
}

/// A folder, the walls around it, and what may be used up there.
#[derive(Debug)]
pub(crate) struct CommandRunner {
    /// Or why nothing is run.
    sandbox: Result<Sandbox, String>,
    folder: PathBuf,
    limits: CommandLimits,
    pub(super) allowed: Vec<String>,
}

impl CommandRunner {
    pub(crate) fn new(
        sandbox: Result<Sandbox, String>,
        folder: &Path,
        limits: CommandLimits,
        allowed: Vec<String>,
    ) -> Self {
        Self {
            sandbox,
            folder: folder.to_owned(),
            limits,
            allowed,
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A command in the folder, with an environment in which programs do not wait for a person.
    pub(super) fn spec(&self, program: &str, seconds: Option<u64>) -> CommandSpec {
        // A model that says 0 means that it does not care.
        let asked = seconds.filter(|seconds| *seconds > 0);
        let deadline = asked.map_or(self.limits.deadline, Duration::from_secs);
        let bounds = Bounds {
            deadline: deadline.min(self.limits.longest),
            output_bytes: self.limits.output_bytes / 2,
            processes: self.limits.processes,
            file_bytes: Some(self.limits.file_bytes),
            ..Bounds::default()
        };
        // An attempt's clone borrows objects, without which git knows no history.
        let borrowed = windlass_workspace::readable_dirs(&self.folder).into_iter();
        let walls = borrowed.fold(Profile::tool(), Profile::read);
        CommandSpec::new(program, &self.folder, walls)
            .env("PAGER", "cat")
            .env("GIT_PAGER", "cat")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_EDITOR", "true")
            .env("TERM", "dumb")
            .env("NO_COLOR", "1")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .limits(bounds)
    }

    /// Runs the first of several commands whose program there is.
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
        if output.exit.why != ExitReason::Exited {
            let after = output.exit.duration.as_secs_f64();
            stderr += &format!("[stopped: it took longer than {after:.0} s]");
            code = 124;
        }
        ShellResult {
            ok: output.exit.success(),
            stdout: output.stdout.text(),
            stderr,
            code,
        }
    }
}
