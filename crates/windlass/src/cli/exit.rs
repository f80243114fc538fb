//! Exit codes and errors of the program.

use std::io;
use std::process::ExitCode;

use windlass_core::{AgentEvent, ErrorCode};

use super::console::Console;

/// The exit codes. They are stable; scripts may rely on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// Success.
    Done = 0,
    /// The agent or the task failed.
    Failed = 1,
    /// The command line or the configuration is invalid.
    Usage = 2,
    /// The task needs an answer from a person.
    Blocked = 3,
    /// The agent is not available on this machine: not installed, or not logged in.
    Unavailable = 4,
    /// A timeout expired.
    Timeout = 124,
    /// Interrupted by a signal.
    Interrupted = 130,
}

impl Exit {
    /// Returns the exit code for a turn's terminal event.
    pub(super) fn from_event(event: &AgentEvent) -> Self {
        match event {
            AgentEvent::Result { .. } => Self::Done,
            AgentEvent::Error { code, .. } => Self::from_code(*code),
            _ => Self::Failed,
        }
    }

    fn from_code(code: ErrorCode) -> Self {
        match code {
            ErrorCode::Timeout => Self::Timeout,
            ErrorCode::Cancelled => Self::Interrupted,
            // Not logged in, or with a key that the provider refuses.
            ErrorCode::AuthFailed => Self::Unavailable,
            _ => Self::Failed,
        }
    }
}

/// An error message of one sentence, and its exit code.
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

    /// Returns `true` if the command line, the configuration or the current state does not allow the request.
    pub(super) fn is_usage(&self) -> bool {
        self.exit == Exit::Usage
    }

    /// Returns `true` if the operation was cancelled.
    pub(super) fn is_interrupted(&self) -> bool {
        self.exit == Exit::Interrupted
    }

    /// Returns the exit code.
    pub(super) fn exit(&self) -> Exit {
        self.exit
    }

    /// Returns `true` if the reader of the output is gone.
    pub(super) fn is_broken_pipe(&self) -> bool {
        self.exit == Exit::Done
    }

    /// Prefixes the message with the name of what failed.
    pub(super) fn with_context(self, context: &str) -> Self {
        Self {
            message: format!("{context}: {}", self.message),
            ..self
        }
    }

    /// A person must decide first.
    pub(super) fn blocked(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Blocked,
            message: message.into(),
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
            _ => Exit::from_code(error.code()),
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
        match *error.kind {
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
        // The reader closed the pipe, for example `head`. That is not an error.
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

/// Prints the error, if there is one, and returns the exit code.
pub(super) fn code(outcome: Result<Exit, CliError>, console: &Console) -> ExitCode {
    let exit = outcome.unwrap_or_else(|error| {
        if error.exit != Exit::Done {
            console.error(&error.message);
        }
        error.exit
    });
    ExitCode::from(exit as u8)
}

/// Prints a usage error, or output such as `--help`, and returns the exit code.
pub(super) fn usage(error: &clap::Error) -> ExitCode {
    // There is no way to report an error in writing this.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() {
        Exit::Usage
    } else {
        Exit::Done
    } as u8)
}
