//! Runs a project's tests: detects the command, runs it in the sandbox and parses its output.

mod caches;
mod command;
pub(crate) mod detect;
mod output;
mod parse;
mod parsed;
mod report;
mod run;
mod runner_kind;
mod settings;
mod verdict;

use std::path::{Path, PathBuf};

use windlass_sandbox::Sandbox;
use windlass_tasks::{TestPlan, TestResult};

use crate::clone;
use crate::error::{Error, Result};

pub(crate) use caches::{CACHES, CacheSharing};
pub(crate) use run::run_setup;

pub use detect::{TestProposal, propose_tests};
pub(crate) use detect::{combined, sub_projects, touched};
pub use settings::TestSettings;

/// Detects a project's test command and runs it.
#[derive(Debug, Clone)]
pub struct TestRunner {
    pub(crate) sandbox: Sandbox,
    pub(crate) settings: TestSettings,
    /// The directory of shared set-up results. `None` if they are not shared.
    pub(crate) setup_store: Option<PathBuf>,
}

impl TestRunner {
    /// Creates a test runner that follows the trusted configuration, or the project's files where
    /// nothing is configured.
    pub fn new(sandbox: Sandbox, settings: TestSettings) -> Self {
        Self {
            sandbox,
            settings,
            setup_store: None,
        }
    }

    /// Shares the results of the set-up in this directory, which is created if it is missing and
    /// must be private.
    pub fn with_setup_store(mut self, dir: impl Into<PathBuf>) -> Self {
        self.setup_store = Some(dir.into());
        self
    }

    /// Returns what would be run in this directory.
    ///
    /// In an attempt's clone that is the command that tested the project before the attempt: a
    /// change does not choose its own tests. Only if no command was known before, the current files
    /// count.
    pub fn plan_in(&self, root: &Path) -> TestPlan {
        if self.settings.none {
            return TestPlan::None;
        }
        let configured = self
            .settings
            .command
            .clone()
            .filter(|command| !command.is_empty());
        let detected = || clone::detected_tests(root).or_else(|| detect::commands(root));
        let setup = self.settings.setup_command();
        let command = configured.or_else(|| Some(detected()?.after(setup)));
        command.map_or(TestPlan::Unknown, TestPlan::Command)
    }

    /// Runs this command as tests and returns the result. A checkout that is not prepared is set up
    /// first.
    pub async fn run(&self, root: &Path, command: &[String]) -> Result<TestResult> {
        run::run(self, root, command).await
    }

    /// Returns the command that runs these cases again, and perhaps others with them. Returns `None`
    /// if the runner is not known or cannot select them.
    pub fn rerun(&self, root: &Path, command: &[String], cases: &[String]) -> Option<Vec<String>> {
        command::select(root, command, cases)
    }

    /// Runs the tests that are planned in this directory.
    pub async fn verify(&self, root: &Path) -> Result<TestResult> {
        match self.plan_in(root) {
            TestPlan::Command(command) => self.run(root, &command).await,
            TestPlan::None | TestPlan::Unknown => Err(Error::Path {
                path: root.to_owned(),
                problem: "no test command is known for this project: set `tests.command`".into(),
            }),
        }
    }
}
