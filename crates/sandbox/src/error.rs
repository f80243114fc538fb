//! Why a process could not be started, or could not be kept within its walls.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use windlass_core::{ErrorCode, Retry};

use crate::mechanism::Mechanism;
use crate::profile::ProfileKind;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What starting or watching a process can fail with; a command that ran and failed is an
/// [`Exit`](crate::Exit), not an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No such program on the `PATH` that the child would have.
    #[error("{program}: not found in PATH ({path}): install it, or give its full path")]
    ProgramNotFound {
        /// The name that was looked for.
        program: String,
        /// The folders that were searched.
        path: String,
    },
    /// A path was given, and there is nothing there that can be run.
    #[error("{}: {problem}", program.display())]
    ProgramUnusable {
        /// The path that was given.
        program: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The program is there, but the profile hides it from the child.
    #[error(
        "{}: profile {} hides {}: add the program's folder to `sandbox.readable`, or install the program elsewhere",
        program.display(), kind.as_str(), hidden.display()
    )]
    ProgramHidden {
        /// The program that was found.
        program: PathBuf,
        /// The path whose rule hides it.
        hidden: PathBuf,
        /// The profile's kind.
        kind: ProfileKind,
    },
    /// The working directory cannot be used.
    #[error("working directory {}: {problem}", path.display())]
    WorkingDirectory {
        /// The directory that was given.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A path of the profile cannot be used.
    #[error("{}: {problem}", path.display())]
    Path {
        /// The path that was given.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// An argument or a variable that no process can be given.
    #[error("{what} contains a NUL byte: remove it")]
    Nul {
        /// Which argument or variable.
        what: String,
    },
    /// Nothing on this machine can hold the child in.
    #[error("no isolation: {reason}")]
    NoIsolation {
        /// The mechanism that was tried; none in particular if none is to be had.
        mechanism: Mechanism,
        /// What is missing, and what to do about it.
        reason: String,
    },
    /// The init program, which every child is started by, is not to be found.
    #[error("the init program is missing: {0}")]
    NoInit(String),
    /// The operating system refused to start a process.
    #[error("starting {program}: {source}")]
    Spawn {
        /// What was to be started.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// The walls stood, but the command behind them did not start.
    #[error("starting {program}: {problem}")]
    Start {
        /// What was to be started.
        program: String,
        /// What the init program said.
        problem: String,
    },
    /// Reading from or watching the child failed.
    #[error("watching {program}: {source}")]
    Watch {
        /// What is being watched.
        program: String,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// The stable name of this failure.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoIsolation { .. } | Self::ProgramHidden { .. } => ErrorCode::PermissionDenied,
            _ => ErrorCode::BackendError,
        }
    }

    /// Whether doing the same thing again may help.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Spawn { source, .. } if is_shortage(source) => {
                Retry::After(Duration::from_secs(1))
            }
            Self::Watch { .. } => Retry::Now,
            _ => Retry::Never,
        }
    }
}

/// Whether the machine ran out of processes, memory or file handles for the moment.
fn is_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spawn_failure(errno: rustix::io::Errno) -> Error {
        Error::Spawn {
            program: "true".into(),
            source: errno.into(),
        }
    }

    #[test]
    fn only_a_shortage_is_worth_another_try() {
        assert!(
            spawn_failure(rustix::io::Errno::AGAIN)
                .retry()
                .is_worthwhile()
        );
        assert!(
            spawn_failure(rustix::io::Errno::MFILE)
                .retry()
                .is_worthwhile()
        );
        assert!(
            !spawn_failure(rustix::io::Errno::ACCESS)
                .retry()
                .is_worthwhile()
        );
    }
}
