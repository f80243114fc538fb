//! The trusted configuration of a project's tests.

use std::path::PathBuf;
use std::time::Duration;

/// How a project's tests are run. It comes from the user or from trusted configuration, never from
/// an untrusted repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestSettings {
    /// The command with its arguments. If `None`, it is detected from the project's files.
    pub command: Option<Vec<String>>,
    /// A command that prepares a checkout, with network access: it installs what the tests need.
    pub setup: Option<Vec<String>>,
    /// Time limit of the setup and of the tests, each.
    pub timeout: Duration,
    /// Whether the tests themselves have network access.
    pub network: bool,
    /// Whether the project is known to have no tests.
    pub none: bool,
    /// Directories in the home directory that tests must be able to read.
    pub read: Vec<PathBuf>,
}

impl TestSettings {
    /// Returns the command of the set-up, unless it is empty.
    pub(crate) fn setup_command(&self) -> Option<&[String]> {
        self.setup.as_deref().filter(|setup| !setup.is_empty())
    }
}

impl Default for TestSettings {
    /// Detected command, ten minutes, no network.
    fn default() -> Self {
        Self {
            command: None,
            setup: None,
            timeout: Duration::from_secs(600),
            network: false,
            none: false,
            read: Vec::new(),
        }
    }
}
