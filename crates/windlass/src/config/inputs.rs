//! Everything that determines a configuration, in one value.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

use super::Key;

/// The inputs of a configuration, except the files.
///
/// Tests construct them directly and need no process environment.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Inputs {
    /// The working directory.
    pub cwd: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The environment of the process.
    pub environment: BTreeMap<OsString, OsString>,
    /// The file given with `--config`.
    pub file: Option<PathBuf>,
    /// Values set by command-line flags.
    pub flags: Vec<Flag>,
}

/// A value set by a command-line flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The flag as written on the command line, such as `--agent`.
    pub name: &'static str,
    /// The key that it sets.
    pub key: Key,
    /// The value as text, as in a variable.
    pub value: String,
}

impl Inputs {
    /// Creates the inputs of a program started in `cwd` by a user with the home directory `home`.
    pub fn new(cwd: impl Into<PathBuf>, home: Option<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            home,
            ..Self::default()
        }
    }

    /// Reads the inputs of this process.
    pub fn from_process() -> std::io::Result<Self> {
        let mut inputs = Self::new(std::env::current_dir()?, std::env::home_dir());
        inputs.environment = std::env::vars_os().collect();
        Ok(inputs)
    }

    /// Sets an environment variable.
    pub fn with_variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// Returns the path of the user's own `windlass.toml`.
    pub fn user_file(&self) -> Option<PathBuf> {
        let dir = self.base("XDG_CONFIG_HOME", ".config")?;
        Some(dir.join("windlass/windlass.toml"))
    }

    /// Returns the directory for persistent state, such as the list of trusted files.
    pub fn state_dir(&self) -> Option<PathBuf> {
        Some(
            self.base("XDG_STATE_HOME", ".local/state")?
                .join("windlass"),
        )
    }

    /// Returns the directory for data that can be recreated at any time.
    pub fn cache_dir(&self) -> Option<PathBuf> {
        Some(self.base("XDG_CACHE_HOME", ".cache")?.join("windlass"))
    }

    /// Returns a base directory of the XDG specification, which says to ignore a relative path. Otherwise `.` would
    /// make files of every repository count as the user's own.
    fn base(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let set = self
            .environment
            .get(OsStr::new(variable))
            .map(PathBuf::from);
        let home = self.home.as_ref().map(|home| home.join(below_home));
        set.filter(|path| path.is_absolute())
            .or(home.filter(|path| path.is_absolute()))
    }
}

impl fmt::Debug for Inputs {
    /// Shows only the names of environment variables, because their values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inputs")
            .field("cwd", &self.cwd)
            .field("home", &self.home)
            .field("environment", &self.environment.keys())
            .field("file", &self.file)
            .field("flags", &self.flags)
            .finish()
    }
}
