//! Runs a project's tests: detects the command, runs it in the sandbox and parses its output.

pub(crate) mod detect;
mod output;
mod parse;
mod run;
mod settings;

use std::path::Path;

use futures::future::BoxFuture;
use windlass_sandbox::Sandbox;
use windlass_tasks::{TestPlan, TestResult, Verifier};

use crate::clone::test_command;
use crate::error::Result;

pub use settings::TestSettings;

/// Detects a project's test command and runs it.
#[derive(Debug, Clone)]
pub struct TestRunner {
    pub(crate) sandbox: Sandbox,
    pub(crate) settings: TestSettings,
}

impl TestRunner {
    /// Creates a test runner that follows the trusted configuration, or the project's files where
    /// nothing is configured.
    pub fn new(sandbox: Sandbox, settings: TestSettings) -> Self {
        Self { sandbox, settings }
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
        let command = configured
            .or_else(|| test_command(root))
            .or_else(|| detect::command(root));
        command.map_or(TestPlan::Unknown, TestPlan::Command)
    }

    /// Runs this command as tests, after `setup`, and returns the result.
    pub async fn run(&self, root: &Path, command: &[String]) -> Result<TestResult> {
        run::run(self, root, command).await
    }
}

impl Verifier for TestRunner {
    fn plan<'a>(&'a self, root: &'a Path) -> BoxFuture<'a, windlass_core::Result<TestPlan>> {
        Box::pin(async move { Ok(self.plan_in(root)) })
    }

    fn verify<'a>(&'a self, root: &'a Path) -> BoxFuture<'a, windlass_core::Result<TestResult>> {
        Box::pin(async move {
            let command = match self.plan_in(root) {
                TestPlan::Command(command) => command,
                TestPlan::None | TestPlan::Unknown => {
                    let problem = "no test command is known for this project: set `tests.command`";
                    return Err(windlass_core::Error::config("tests.command", problem));
                }
            };
            Ok(self.run(root, &command).await?)
        })
    }
}
