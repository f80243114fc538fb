//! Sandbox profiles: the kind of a process, and what it may access beyond what its kind allows.

use std::ffi::OsString;
use std::path::PathBuf;

use windlass_core::{DirAccess, NetworkMode, NetworkSetting};

use crate::network::{HostRule, InvalidHost, Network};

/// The kind of a process, which determines its default access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProfileKind {
    /// A coding agent or an MCP server: the hosts of its list, a private home directory with toolchains, caches of build tools and
    /// git's settings, write access to its own state directory.
    Agent,
    /// A command requested by a model: no network, and a private home directory with toolchains.
    Tool,
    /// A project's tests: like a tool, plus read access to the caches of build tools.
    Test,
}

impl ProfileKind {
    /// Returns the name used in messages and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Test => "test",
        }
    }
}

/// What one process may access.
///
/// A private `/tmp` is always writable, the working directory unless the profile makes it
/// read-only. Of the rest, what the lists for the kind name is readable. If two rules overlap, the
/// one for the deeper path applies.
#[derive(Debug, Clone)]
pub struct Profile {
    pub(crate) kind: ProfileKind,
    pub(crate) network: Network,
    pub(crate) access: DirAccess,
    pub(crate) write: Vec<PathBuf>,
    pub(crate) read: Vec<PathBuf>,
    pub(crate) hide: Vec<PathBuf>,
    pub(crate) state: Vec<PathBuf>,
    pub(crate) programs: Vec<OsString>,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) programs_only: bool,
}

impl Profile {
    /// Creates a profile for a coding agent, without network access.
    pub fn agent() -> Self {
        Self::with_kind(ProfileKind::Agent)
    }

    /// Creates a profile for a command requested by a model, without network access.
    pub fn tool() -> Self {
        Self::with_kind(ProfileKind::Tool)
    }

    /// Creates a profile for a project's tests, without network access.
    pub fn test() -> Self {
        Self::with_kind(ProfileKind::Test)
    }

    fn with_kind(kind: ProfileKind) -> Self {
        Self {
            kind,
            network: Network::None,
            access: DirAccess::Files,
            write: Vec::new(),
            read: Vec::new(),
            hide: Vec::new(),
            state: Vec::new(),
            programs: Vec::new(),
            arguments: Vec::new(),
            programs_only: false,
        }
    }

    /// Returns the kind of process this profile is for.
    pub fn kind(&self) -> ProfileKind {
        self.kind
    }

    /// Shows only the programs and libraries of the system and what the profile names: no home
    /// directory, no settings, no kernel files. Such a sandbox is much faster to set up. The process
    /// starts in `/`.
    pub fn programs_only(mut self) -> Self {
        self.programs_only = true;
        self
    }

    /// Sets whether the process may access the network: every host, or none.
    pub fn network(mut self, allowed: bool) -> Self {
        self.network = if allowed {
            Network::Open
        } else {
            Network::None
        };
        self
    }

    /// Lets the process reach only these hosts.
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = HostRule>) -> Self {
        self.network = Network::Hosts(hosts.into_iter().collect());
        self
    }

    /// Lets the process reach what a setting allows: `own` hosts, if there is no setting; these and the listed
    /// ones; every host; or none.
    pub fn network_setting(
        self,
        setting: Option<&NetworkSetting>,
        own: Vec<HostRule>,
    ) -> Result<Self, InvalidHost> {
        match setting {
            Some(NetworkSetting::Mode(mode)) => Ok(self.network(*mode == NetworkMode::Open)),
            Some(NetworkSetting::Hosts(hosts)) => {
                Ok(self.hosts(own.into_iter().chain(HostRule::parse_all(hosts)?)))
            }
            None => Ok(self.hosts(own)),
        }
    }

    /// Sets what the process may change in its working directory. The default is the files, but not
    /// git's own data.
    pub fn access(mut self, access: DirAccess) -> Self {
        self.access = access;
        self
    }

    /// Makes a path writable; it must exist.
    pub fn write(mut self, path: impl Into<PathBuf>) -> Self {
        self.write.push(path.into());
        self
    }

    /// Makes a path readable even if a parent is hidden; a missing path is not an error.
    pub fn read(mut self, path: impl Into<PathBuf>) -> Self {
        self.read.push(path.into());
        self
    }

    /// Makes a program that the process will start itself as readable as the started program. It is
    /// a name on the `PATH` or a path. A missing program is not an error.
    pub fn program(mut self, program: impl Into<OsString>) -> Self {
        self.programs.push(program.into());
        self
    }

    /// Makes an argument that the user configured readable, if it is an absolute path that exists:
    /// a directory, or a script together with its package.
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Hides a path; a missing path is not an error.
    pub fn hide(mut self, path: impl Into<PathBuf>) -> Self {
        self.hide.push(path.into());
        self
    }

    /// Makes an agent's directory for sessions and settings writable, and creates it if it is
    /// missing.
    pub fn state(mut self, path: impl Into<PathBuf>) -> Self {
        self.state.push(path.into());
        self
    }
}
