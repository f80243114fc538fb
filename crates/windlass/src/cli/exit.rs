//! How the program ends, as other programs see it.

use std::io;
use std::process::ExitCode;

use windlass_core::{AgentEvent, ErrorCode};

use super::console::Console;

/// The exit codes, which scripts may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// Done.
    Done = 0,
    /// The agent or the task failed.
    Failed = 1,
    /// The command line or the configuration does not fit.
    Usage = 2,
    /// A person must answer first.
    Blocked = 3,
    /// The agent is not available here.
    Unavailable = 4,
    /// Time ran out.
    Timeout = 124,
    /// Somebody interrupted.
    Interrupted = 130,
}

impl Exit {
    /// The exit that a turn's terminal event stands for.
    pub(super) fn of_turn(event: &AgentEvent) -> Self {
        match event {
            AgentEvent::Result { .. } => Self::Done,
            AgentEvent::Error { code, .. } => Self::of_code(*code),
            _ => Self::Failed,
        }
    }

    fn of_code(code: ErrorCode) -> Self {
        match code {
            ErrorCode::Timeout => Self::Timeout,
            ErrorCode::Cancelled => Self::Interrupted,
            _ => Self::Failed,
        }
    }
}

/// One clear sentence, and the exit code that goes with it.
#[derive(Debug)]
pub(super) struct CliError {
    exit: Exit,
    message: String,
}

impl CliError {
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            message: message.into(),
        }
    }

    /// Whether what was asked does not fit the command line, the configuration or the state of things.
    pub(super) fn is_usage(&self) -> bool {
        self.exit == Exit::Usage
    }

    /// The same, with a word on whose failure it is.
    pub(super) fn with_context(self, whose: &str) -> Self {
        Self {
            message: format!("{whose}: {}", self.message),
            ..self
        }
    }

    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Failed,
            message: message.into(),
        }
    }
}

impl std::fmt::Display for CliError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<crate::config::Error> for CliError {
    fn from(error: crate::config::Error) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<windlass_core::Error> for CliError {
    fn from(error: windlass_core::Error) -> Self {
        use windlass_core::Error;
        let exit = match error {
            Error::Config { .. }
            | Error::UnknownBackend(_)
            | Error::Reference(_)
            | Error::InvalidInput(_) => Exit::Usage,
            Error::Unavailable { .. } => Exit::Unavailable,
            _ => Exit::of_code(error.code()),
        };
        Self {
            exit,
            message: error.to_string(),
        }
    }
}

impl From<windlass_core::structured::Error> for CliError {
    fn from(error: windlass_core::structured::Error) -> Self {
        use windlass_core::structured::StructuredErrorKind;
        let message = error.to_string();
        match *error.fault {
            StructuredErrorKind::Agent(error) => Self {
                message,
                ..Self::from(error)
            },
            _ => Self::failed(message),
        }
    }
}

impl From<windlass_index::Error> for CliError {
    fn from(error: windlass_index::Error) -> Self {
        windlass_core::Error::from(error).into()
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        // Whoever reads our output has seen enough; that is no fault of anyone.
        let exit = match error.kind() {
            io::ErrorKind::BrokenPipe => Exit::Done,
            _ => Exit::Failed,
        };
        Self {
            exit,
            message: format!("writing the output: {error}"),
        }
    }
}

/// Says what went wrong, if anything did, and gives the code.
pub(super) fn code(outcome: Result<Exit, CliError>, console: &Console) -> ExitCode {
    let exit = outcome.unwrap_or_else(|failure| {
        if failure.exit != Exit::Done {
            console.error(&failure.message);
        }
        failure.exit
    });
    ExitCode::from(exit as u8)
}

/// What the command line's own errors and answers (such as `--help`) end with.
pub(super) fn usage(error: &clap::Error) -> ExitCode {
    // Nothing better can be done when even this cannot be written.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() {
        Exit::Usage
    } else {
        Exit::Done
    } as u8)
}
