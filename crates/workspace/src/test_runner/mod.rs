//! How a project is tested: found out, run behind walls, and read.

pub(crate) mod detect;
mod output;
mod parse;
mod run;
mod settings;

use std::path::Path;

use futures::future::BoxFuture;
use windlass_core::task::TestResult;
use windlass_core::workspace::{TestPlan, Verifier};
use windlass_sandbox::Sandbox;

use crate::clone::test_command;
use crate::error::Result;

pub use settings::TestSettings;

/// Knows how a project is tested, and does it.
#[derive(Debug, Clone)]
pub struct TestRunner {
    pub(crate) sandbox: Sandbox,
    pub(crate) settings: TestSettings,
}

impl TestRunner {
    /// Tests as the trusted configuration says, and as the project's files suggest where it is silent.
    pub fn new(sandbox: Sandbox, settings: TestSettings) -> Self {
        Self { sandbox, settings }
    }

    /// What would be run in this folder.
    ///
    /// In an attempt's clone that is what tested the project before the attempt: a change does not choose its own
    /// judge. Only where nothing was known before, what is there now counts.
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

    /// Runs this command as tests are run, `setup` before it, and says how it ended.
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
                    let problem = "no command to test this project is known: set `tests.command`";
                    return Err(windlass_core::Error::config("tests.command", problem));
                }
            };
            Ok(self.run(root, &command).await?)
        })
    }
}
