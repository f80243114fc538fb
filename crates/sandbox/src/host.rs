//! The host as the user sees it: environment and home directory.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The `PATH` used when the user has none.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The user's environment, from which children get selected variables, and the home directory to
/// protect.
#[derive(Clone)]
pub struct Host {
    variables: BTreeMap<OsString, OsString>,
    home: PathBuf,
    readable: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
}

impl Host {
    /// Returns the host of this process.
    pub fn current() -> Self {
        Self::new(std::env::vars_os())
    }

    /// Creates a host with these variables; `HOME` names the home directory.
    pub fn new<K: Into<OsString>, V: Into<OsString>>(
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let variables: BTreeMap<OsString, OsString> = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let named = variables.get(OsStr::new("HOME")).map(PathBuf::from);
        // Mounts apply to canonical paths, so a home directory reached through a link is protected
        // at its target.
        let home = named
            .map(|home| home.canonicalize().unwrap_or(home))
            .filter(|home| home.is_absolute() && home.parent().is_some());
        Self {
            variables,
            home: home.unwrap_or_else(|| PathBuf::from("/nonexistent")),
            readable: Vec::new(),
            hidden: Vec::new(),
        }
    }

    /// Lets every process read these paths, whatever its profile, e.g. a toolchain in an unusual
    /// directory. `~/` means the home directory; a missing path is not an error.
    pub fn with_readable<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        let paths = paths.into_iter().map(|path| self.expand(path));
        self.readable = paths.collect();
        self
    }

    /// Hides these paths from every process, like Windlass's own directories, e.g. the key of a server.
    pub fn with_hidden<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        let paths = paths.into_iter().map(|path| self.expand(path));
        self.hidden = paths.collect();
        self
    }

    /// Returns the path with `~/` replaced by the home directory.
    pub fn expand(&self, path: impl AsRef<Path>) -> PathBuf {
        match path.as_ref().strip_prefix("~") {
            Ok(below) => self.home.join(below),
            Err(_) => path.as_ref().to_owned(),
        }
    }

    pub(crate) fn readable(&self) -> &[PathBuf] {
        &self.readable
    }

    /// Returns the value of a variable in the user's environment.
    pub fn variable(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.variables.get(name.as_ref()).map(OsString::as_os_str)
    }

    /// Returns the canonical path of the home directory.
    pub fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn path(&self) -> &OsStr {
        self.variable("PATH").unwrap_or(OsStr::new(DEFAULT_PATH))
    }

    /// Returns the directory with the cleanup records of running sandboxes.
    pub(crate) fn cleanup_records(&self) -> PathBuf {
        self.own_dir("XDG_STATE_HOME", ".local/state")
            .join("cleanup")
    }

    /// Returns the directory with the records of mechanisms that work.
    pub(crate) fn probe_records(&self) -> PathBuf {
        self.own_dir("XDG_STATE_HOME", ".local/state")
            .join("mechanisms")
    }

    /// Returns what belongs to Windlass itself: the directories of its state, settings and cache, and
    /// what the configuration hides. No process can see them, except for the parts that its profile names.
    pub(crate) fn own_paths(&self) -> Vec<PathBuf> {
        let dirs = [
            ("XDG_STATE_HOME", ".local/state"),
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_CACHE_HOME", ".cache"),
        ];
        let dirs = dirs.map(|(variable, below_home)| self.own_dir(variable, below_home));
        dirs.into_iter().chain(self.hidden.clone()).collect()
    }

    fn own_dir(&self, variable: &str, below_home: &str) -> PathBuf {
        let base = self.variable(variable).map(PathBuf::from);
        let base = base.filter(|path| path.is_absolute());
        base.unwrap_or_else(|| self.home.join(below_home))
            .join("windlass")
    }

    /// Returns the path for a new record, or `None` if the kernel provides no random name.
    pub(crate) fn new_cleanup_record(&self) -> Option<PathBuf> {
        let mut name = String::new();
        let random = File::open("/proc/sys/kernel/random/uuid").ok()?;
        random.take(64).read_to_string(&mut name).ok()?;
        Some(self.cleanup_records().join(name.trim()))
    }

    /// Returns the first program with this name on `path`.
    ///
    /// Relative entries are skipped: they would let the working directory choose the program.
    pub(crate) fn find(path: &OsStr, program: &OsStr) -> Option<PathBuf> {
        std::env::split_paths(path)
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join(program))
            .find(|candidate| is_executable(candidate))
    }
}

impl fmt::Debug for Host {
    /// Prints only names: the values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("variables", &self.variables.keys())
            .field("home", &self.home)
            .finish()
    }
}

pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
