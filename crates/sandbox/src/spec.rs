//! A command to run: program, working directory, input and limits.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::limits::{OUTPUT_BYTES, PLAIN_LINE_BYTES};

use crate::environment::EnvVars;
use crate::profile::Profile;

/// The child's standard input.
///
/// The default is empty: several agents wait forever on an input that is open and has no data.
#[derive(Clone, Default)]
pub enum Stdin {
    /// No input: `/dev/null`.
    #[default]
    Null,
    /// These bytes, then end of file.
    Bytes(Vec<u8>),
    /// The data written to [`Child::stdin`](crate::Child::stdin), until that is dropped.
    Pipe,
}

impl fmt::Debug for Stdin {
    /// Omits the content: a prompt must not appear in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("Null"),
            Self::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Self::Pipe => f.write_str("Pipe"),
        }
    }
}

/// Limits on the time and the output of one command. [`ResourceLimits`](crate::ResourceLimits) are
/// those of its profile.
#[derive(Debug, Clone)]
pub struct ProcessLimits {
    /// The time from start to end.
    pub deadline: Duration,
    /// The time between two calls of
    /// [`ChildControl::reset_stall_timer`](crate::ChildControl::reset_stall_timer); no limit if
    /// `None`.
    pub stall: Option<Duration>,
    /// How long the process tree may take to exit after SIGTERM.
    pub grace: Duration,
    /// The maximum length of a line that is not truncated.
    pub line_bytes: usize,
    /// How much of standard error is retained, and how much of standard output by
    /// [`Sandbox::run`](crate::Sandbox::run).
    pub output_bytes: usize,
}

impl Default for ProcessLimits {
    /// Ten minutes, two seconds of grace, 1 MiB per line and per output.
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(600),
            stall: None,
            grace: Duration::from_secs(2),
            line_bytes: PLAIN_LINE_BYTES,
            output_bytes: OUTPUT_BYTES,
        }
    }
}

/// One command to run.
#[derive(Clone)]
pub struct CommandSpec {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) profile: Profile,
    pub(crate) variables: EnvVars,
    pub(crate) stdin: Stdin,
    pub(crate) limits: ProcessLimits,
}

impl CommandSpec {
    /// Runs `program` in `cwd`. No shell is involved: a name is searched for on `PATH`, a path is
    /// used as is.
    pub fn new(program: impl Into<OsString>, cwd: impl Into<PathBuf>, profile: Profile) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            profile,
            variables: EnvVars::new(),
            stdin: Stdin::Null,
            limits: ProcessLimits::default(),
        }
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable; it takes precedence over the profile's.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Sets the child's standard input.
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Sets the limits.
    pub fn limits(mut self, limits: ProcessLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets only the deadline: the time from start to end.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.limits.deadline = deadline;
        self
    }

    /// Sets only how much of each output is retained.
    pub fn output_bytes(mut self, bytes: usize) -> Self {
        self.limits.output_bytes = bytes;
        self
    }

    /// Returns the program as it was given.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// Returns the working directory as it was given.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }
}

impl fmt::Debug for CommandSpec {
    /// Omits arguments and values of variables: they may contain secrets that must not appear in a
    /// log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandSpec")
            .field("program", &self.program)
            .field("args", &self.args.len())
            .field("cwd", &self.cwd)
            .field("profile", &self.profile)
            .field("variables", &self.variables.keys())
            .field("stdin", &self.stdin)
            .field("limits", &self.limits)
            .finish()
    }
}
