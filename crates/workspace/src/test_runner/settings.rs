//! What the trusted configuration says about a project's tests.

use std::path::PathBuf;
use std::time::Duration;

/// How a project's tests are run. It comes from the user or from trusted configuration, never from a
/// repository as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestSettings {
    /// The command, as words. `None`: what the project's files suggest.
    pub command: Option<Vec<String>>,
    /// A command that is run before, with network, to fetch what the tests need.
    pub setup: Option<Vec<String>>,
    /// How long setup and tests may each take.
    pub timeout: Duration,
    /// Whether the tests themselves may reach the network.
    pub network: bool,
    /// The project has no tests, and that is known.
    pub none: bool,
    /// Folders in the home folder that tests must be able to read.
    pub read: Vec<PathBuf>,
}

impl Default for TestSettings {
    /// What the project's files suggest, ten minutes, no network.
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
