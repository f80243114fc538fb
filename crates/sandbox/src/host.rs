//! The machine as its user sees it: environment, home folder, identity.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Where programs are looked for when the user has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The environment that children may be given parts of, and whose home folder is to be guarded.
#[derive(Clone)]
pub struct Host {
    variables: BTreeMap<OsString, OsString>,
    home: PathBuf,
    readable: Vec<PathBuf>,
}

impl Host {
    /// The host of this process.
    pub fn current() -> Self {
        Self::new(std::env::vars_os())
    }

    /// A host with these variables; `HOME` among them names the home folder.
    pub fn new<K: Into<OsString>, V: Into<OsString>>(
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let variables: BTreeMap<OsString, OsString> = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let named = variables.get(OsStr::new("HOME")).map(PathBuf::from);
        // Mounts land on real paths; a home folder behind a link must be guarded where it really
        // is.
        let home = named
            .map(|home| home.canonicalize().unwrap_or(home))
            .filter(|home| home.is_absolute() && home.parent().is_some());
        Self {
            variables,
            home: home.unwrap_or_else(|| PathBuf::from("/nonexistent")),
            readable: Vec::new(),
        }
    }

    /// Lets every process read these paths, whatever its profile, such as a toolchain in an unusual
    /// place. `~/` stands for the home folder; a missing path is no error.
    pub fn with_readable<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        let paths = paths.into_iter().map(|path| self.expand(path));
        self.readable = paths.collect();
        self
    }

    /// Returns the path with `~/` replaced by the home folder.
    pub fn expand(&self, path: impl AsRef<Path>) -> PathBuf {
        match path.as_ref().strip_prefix("~") {
            Ok(below) => self.home.join(below),
            Err(_) => path.as_ref().to_owned(),
        }
    }

    pub(crate) fn readable(&self) -> &[PathBuf] {
        &self.readable
    }

    /// The value of a variable of the user's environment.
    pub fn variable(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.variables.get(name.as_ref()).map(OsString::as_os_str)
    }

    /// The home folder, by its real path.
    pub fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn path(&self) -> &OsStr {
        self.variable("PATH").unwrap_or(OsStr::new(DEFAULT_PATH))
    }

    /// Returns the folder with the records of what running sandboxes will have to clean up.
    pub(crate) fn cleanup_records(&self) -> PathBuf {
        let state = self.variable("XDG_STATE_HOME").map(PathBuf::from);
        let state = state.filter(|path| path.is_absolute());
        let state = state.unwrap_or_else(|| self.home.join(".local/state"));
        state.join("windlass/cleanup")
    }

    /// Returns the path for a new record, if the kernel has a random name for it.
    pub(crate) fn new_cleanup_record(&self) -> Option<PathBuf> {
        let mut name = String::new();
        let random = File::open("/proc/sys/kernel/random/uuid").ok()?;
        random.take(64).read_to_string(&mut name).ok()?;
        Some(self.cleanup_records().join(name.trim()))
    }

    /// The first program of this name on `path`.
    ///
    /// Relative entries are passed over: they would let the working directory choose the program.
    pub(crate) fn find(path: &OsStr, program: &OsStr) -> Option<PathBuf> {
        std::env::split_paths(path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(program))
            .find(|candidate| is_executable(candidate))
    }
}

impl fmt::Debug for Host {
    /// Names only: the values are the user's secrets as often as not.
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
