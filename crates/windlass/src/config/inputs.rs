//! Everything that decides a configuration, gathered in one value.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

use super::Key;

/// What the configuration is a function of, files aside.
///
/// A test builds one by hand and needs no process environment.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Inputs {
    /// The working directory.
    pub cwd: PathBuf,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// The environment of the process.
    pub environment: BTreeMap<OsString, OsString>,
    /// The file named with `--config`.
    pub file: Option<PathBuf>,
    /// What the command line sets.
    pub flags: Vec<Flag>,
}

/// A value that a flag of the command line sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The flag as a person writes it, such as `--agent`.
    pub name: &'static str,
    /// The key that it sets.
    pub key: Key,
    /// The value, written as in a variable.
    pub value: String,
}

impl Inputs {
    /// The inputs of a program started in `cwd` by a user whose home is `home`.
    pub fn new(cwd: impl Into<PathBuf>, home: Option<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            home,
            ..Self::default()
        }
    }

    /// The inputs of this process.
    pub fn from_process() -> std::io::Result<Self> {
        let mut inputs = Self::new(std::env::current_dir()?, std::env::home_dir());
        inputs.environment = std::env::vars_os().collect();
        Ok(inputs)
    }

    /// The same with a variable set.
    pub fn with_variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// The user's own `windlass.toml`.
    pub fn user_file(&self) -> Option<PathBuf> {
        let folder = self.base("XDG_CONFIG_HOME", ".config")?;
        Some(folder.join("windlass/windlass.toml"))
    }

    /// The folder for what Windlass remembers between runs, the list of trusted files among it.
    pub fn state_dir(&self) -> Option<PathBuf> {
        Some(
            self.base("XDG_STATE_HOME", ".local/state")?
                .join("windlass"),
        )
    }

    /// The folder for what can be made again at any time.
    pub fn cache_dir(&self) -> Option<PathBuf> {
        Some(self.base("XDG_CACHE_HOME", ".cache")?.join("windlass"))
    }

    /// A base folder of the XDG standard, which says to ignore a relative path. That also keeps a `.` in it from
    /// making every repository the user's own.
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
    /// Half of an environment is secrets: only the names are shown.
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
