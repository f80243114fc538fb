//! Errors of starting, sandboxing and watching a process.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use windlass_core::{ErrorCode, Retry};

use crate::mechanism::Mechanism;
use crate::profile::ProfileKind;

/// A result with [`Error`] as its default error type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of starting or watching a process. A command that ran and failed is an
/// [`ExitStatus`](crate::ExitStatus), not an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program is not on the `PATH` of the child.
    #[error("{program}: not found in PATH ({path}): install it, or give its full path")]
    ProgramNotFound {
        /// The program name.
        program: String,
        /// The `PATH` that was searched.
        path: String,
    },
    /// The program was given as a path that cannot be executed.
    #[error("{}: {problem}", program.display())]
    ProgramUnusable {
        /// The path that was given.
        program: PathBuf,
        /// Why it cannot be executed.
        problem: &'static str,
    },
    /// The program exists, but the profile hides it from the child.
    #[error(
        "{}: profile {} hides {}: add the program's directory to `sandbox.readable`, or install the program elsewhere",
        program.display(), kind.as_str(), hidden.display()
    )]
    ProgramHidden {
        /// The program that was found.
        program: PathBuf,
        /// The path of the rule that hides it.
        hidden: PathBuf,
        /// The kind of the profile.
        kind: ProfileKind,
    },
    /// The working directory cannot be used.
    #[error("working directory {}: {problem}", path.display())]
    WorkingDirectory {
        /// The directory that was given.
        path: PathBuf,
        /// Why it cannot be used.
        problem: String,
    },
    /// A path of the profile cannot be used.
    #[error("{}: {problem}", path.display())]
    Path {
        /// The path that was given.
        path: PathBuf,
        /// Why it cannot be used.
        problem: String,
    },
    /// An argument or a variable contains a NUL byte, which no process can receive.
    #[error("{what} contains a NUL byte: remove it")]
    Nul {
        /// Which argument or variable.
        what: String,
    },
    /// No isolation mechanism works on this machine.
    #[error("no isolation: {reason}")]
    NoIsolation {
        /// The mechanism that was tried; [`Mechanism::None`] if none is available.
        mechanism: Mechanism,
        /// What is missing, and how to fix it.
        reason: String,
    },
    /// The init program, which starts every child, was not found.
    #[error("the init program is missing: {0}")]
    NoInit(String),
    /// The system call filter cannot be built for this machine.
    #[error("no system call filter: {0}")]
    Filter(String),
    /// The allowed hosts cannot be made reachable.
    #[error("network: {0}")]
    Network(String),
    /// The operating system refused to start a process.
    #[error("starting {program}: {source}")]
    Spawn {
        /// The program to start.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// The sandbox was set up, but the command in it did not start.
    #[error("starting {program}: {problem}")]
    Start {
        /// The program to start.
        program: String,
        /// The error that the init process reported.
        problem: String,
    },
    /// Reading from the child or watching it failed.
    #[error("watching {program}: {source}")]
    Watch {
        /// The program being watched.
        program: String,
        /// The system's error.
        source: io::Error,
    },
}

impl Error {
    /// Returns the stable code of this error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoIsolation { .. } | Self::ProgramHidden { .. } => ErrorCode::PermissionDenied,
            _ => ErrorCode::BackendError,
        }
    }

    /// Returns whether repeating the operation may help.
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

/// Returns `true` if the machine is temporarily out of processes, memory or file descriptors.
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
    fn only_resource_shortage_is_retryable() {
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
