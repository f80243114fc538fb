//! One command to run: what, where, with which input, and within which limits.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::limits::{OUTPUT_BYTES, PLAIN_LINE_BYTES};

use crate::environment::EnvVars;
use crate::profile::Profile;

/// What the child reads on its standard input.
///
/// The default is nothing: several agents wait for ever on an input that is open and empty.
#[derive(Clone, Default)]
pub enum Stdin {
    /// Nothing: `/dev/null`.
    #[default]
    Null,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// Whatever is written to [`Child::stdin`](crate::Child::stdin), until that is dropped.
    Pipe,
}

impl fmt::Debug for Stdin {
    /// A prompt does not belong in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("Null"),
            Self::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Self::Pipe => f.write_str("Pipe"),
        }
    }
}

/// What one command may use up.
#[derive(Debug, Clone)]
pub struct ProcessLimits {
    /// The time from start to end.
    pub deadline: Duration,
    /// The time between two calls of [`Control::pulse`](crate::Control::pulse); no limit if `None`.
    pub stall: Option<Duration>,
    /// How long the tree may take to end by itself after SIGTERM.
    pub grace: Duration,
    /// The longest line kept whole.
    pub line_bytes: usize,
    /// What is kept of standard error, and of standard output by
    /// [`Sandbox::run`](crate::Sandbox::run).
    pub output_bytes: usize,
    /// How many processes and threads there may be at once, where the mechanism can count them.
    pub processes: u64,
    /// The largest file that may be written; no limit if `None`.
    pub file_bytes: Option<u64>,
}

impl Default for ProcessLimits {
    /// Ten minutes, two seconds of grace, 1 MiB per line and per output, 4,096 processes.
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(600),
            stall: None,
            grace: Duration::from_secs(2),
            line_bytes: PLAIN_LINE_BYTES,
            output_bytes: OUTPUT_BYTES,
            processes: 4096,
            file_bytes: None,
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
    /// Runs `program` in `cwd`. No shell is involved: a name is looked for on `PATH`, a path is
    /// taken as it is.
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

    /// Sets a variable, over what the profile would give.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Says what the child reads.
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Sets the limits.
    pub fn limits(mut self, limits: ProcessLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets only the time from start to end.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.limits.deadline = deadline;
        self
    }

    /// The program as it was given.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// The working directory as it was given.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }
}

impl fmt::Debug for CommandSpec {
    /// Neither arguments nor values: both may carry what must not reach a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spec")
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
