//! What kind of process this is, and what it may touch beyond what its kind allows.

use std::ffi::OsString;
use std::path::PathBuf;

/// The three kinds of process, each with its own idea of what is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProfileKind {
    /// A coding agent: network, the real home folder for reading, its own state folder for writing.
    Agent,
    /// A command a model asked for: no network, a home folder of its own that is empty but for
    /// toolchains.
    Tool,
    /// A project's tests: like a tool, and the caches of build tools for reading.
    Test,
}

impl ProfileKind {
    /// The name as it appears in messages and on a command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Test => "test",
        }
    }
}

/// What one process may touch.
///
/// The working directory and a private `/tmp` are always writable, and everything the kind does not
/// hide is readable. Where two rules meet, the one for the deeper path holds.
#[derive(Debug, Clone)]
pub struct Profile {
    pub(crate) kind: ProfileKind,
    pub(crate) network: bool,
    pub(crate) write: Vec<PathBuf>,
    pub(crate) read: Vec<PathBuf>,
    pub(crate) hide: Vec<PathBuf>,
    pub(crate) state: Vec<PathBuf>,
    pub(crate) programs: Vec<OsString>,
}

impl Profile {
    /// For a coding agent: with network.
    pub fn agent() -> Self {
        Self::with_kind(ProfileKind::Agent, true)
    }

    /// For a command a model asked for: without network.
    pub fn tool() -> Self {
        Self::with_kind(ProfileKind::Tool, false)
    }

    /// For a project's tests: without network.
    pub fn test() -> Self {
        Self::with_kind(ProfileKind::Test, false)
    }

    fn with_kind(kind: ProfileKind, network: bool) -> Self {
        Self {
            kind,
            network,
            write: Vec::new(),
            read: Vec::new(),
            hide: Vec::new(),
            state: Vec::new(),
            programs: Vec::new(),
        }
    }

    /// Which kind of process this is for.
    pub fn kind(&self) -> ProfileKind {
        self.kind
    }

    /// Whether the process may reach the network.
    pub fn network(mut self, allowed: bool) -> Self {
        self.network = allowed;
        self
    }

    /// Lets the process write here as well; the path must exist.
    pub fn write(mut self, path: impl Into<PathBuf>) -> Self {
        self.write.push(path.into());
        self
    }

    /// Lets the process read here although something above is hidden; a missing path is no error.
    pub fn read(mut self, path: impl Into<PathBuf>) -> Self {
        self.read.push(path.into());
        self
    }

    /// Makes a program that the process will start itself as readable as the one it is started
    /// from: a name on the `PATH`, or a path. A missing program is no error.
    pub fn program(mut self, program: impl Into<OsString>) -> Self {
        self.programs.push(program.into());
        self
    }

    /// Hides this path; a missing path is no error.
    pub fn hide(mut self, path: impl Into<PathBuf>) -> Self {
        self.hide.push(path.into());
        self
    }

    /// A folder where an agent keeps its sessions and settings: writable, and made if it is
    /// missing.
    pub fn state(mut self, path: impl Into<PathBuf>) -> Self {
        self.state.push(path.into());
        self
    }
}
