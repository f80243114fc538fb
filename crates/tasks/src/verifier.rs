//! Test runs: how a project is tested, before and after a change.

use std::fmt;
use std::path::Path;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use windlass_core::Result;

use crate::proof::Warning;
use crate::record::TestResult;
use crate::workspace::{Commit, WorkingCopy};

/// Runs a project's tests on commits. It never runs them in the files of an agent.
pub trait Verifier: fmt::Debug + Send + Sync {
    /// Returns how the project in this directory would be tested.
    fn plan<'a>(&'a self, root: &'a Path) -> BoxFuture<'a, Result<TestPlan>>;

    /// Tests the base of a working copy, or returns the stored result of an earlier run with the same files,
    /// command and set-up. Failing tests are a result, not an error.
    fn baseline<'a>(
        &'a self,
        copy: &'a dyn WorkingCopy,
        command: &'a [String],
    ) -> BoxFuture<'a, Result<Baseline>>;

    /// Prepares a working copy for the agent: runs the set-up of the project in it.
    fn prepare<'a>(&'a self, copy: &'a dyn WorkingCopy) -> BoxFuture<'a, Result<()>> {
        let _ = copy;
        Box::pin(async { Ok(()) })
    }

    /// Tests a commit of a working copy in a fresh checkout. Failing tests are a result, not an error. If the
    /// baseline has projects, those that the change touches are tested, with their dependents.
    fn check<'a>(
        &'a self,
        copy: &'a dyn WorkingCopy,
        request: CheckRequest<'a>,
    ) -> BoxFuture<'a, Result<Check>>;
}

/// How a project is tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestPlan {
    /// With this command.
    Command(Vec<String>),
    /// Not at all: the trusted configuration says that there are no tests.
    None,
    /// Unknown: a person must configure the command.
    Unknown,
}

/// The tests of the base commit, before any change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// The run.
    pub result: TestResult,
    /// The command that prepared the checkout. May be empty.
    #[serde(default)]
    pub setup: Vec<String>,
    /// Why the tests cannot run at all, whatever the change is.
    #[serde(default)]
    pub obstacle: Option<Obstacle>,
    /// The projects of a monorepo that can be tested separately. Empty if the repository is tested as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<SubProject>,
}

/// One project of a monorepo, as the base commit has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubProject {
    /// Its directory, relative to the root of the repository.
    pub dir: String,
    /// The command that tests it, started in the root of the repository.
    pub command: Vec<String>,
    /// The directories of the projects that refer to it in their manifests.
    pub dependents: Vec<String>,
}

/// Why tests cannot run, with a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obstacle {
    /// The reason: the first meaningful lines of the output.
    pub reason: String,
    /// What to set in the configuration, as lines of TOML.
    pub proposal: Option<String>,
    /// The project's own files are the cause, such as code that does not compile. An agent can repair them.
    #[serde(default)]
    pub in_files: bool,
}

/// A commit to test.
#[derive(Debug, Clone, Copy)]
pub struct CheckRequest<'a> {
    /// The commit.
    pub commit: &'a Commit,
    /// The test command.
    pub command: &'a [String],
    /// The tests of the base, which decide what the change has broken.
    pub baseline: &'a Baseline,
    /// The task is about the tests themselves: the tests of the base are not run.
    pub edits_tests: bool,
}

/// The test runs of a commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The run with the tests of the change.
    pub own: TestRun,
    /// The run with the tests, runner configuration and scripts of the base.
    pub base_tests: BaseTests,
    /// What the changed files give a reviewer to look at.
    pub warnings: Vec<Warning>,
    /// The part of a monorepo that was tested. `None` if all of it was.
    pub part: Option<Box<TestedPart>>,
}

impl Check {
    /// Returns what the runs are compared with: the baseline of the tested part, or else that of the request.
    pub fn baseline<'a>(&'a self, whole: &'a Baseline) -> &'a Baseline {
        self.part.as_ref().map_or(whole, |part| &part.baseline)
    }
}

/// The projects of a monorepo that a change touches, and their tests before the change.
#[derive(Debug, Clone, PartialEq)]
pub struct TestedPart {
    /// Their directories.
    pub projects: Vec<String>,
    /// Their tests on the base.
    pub baseline: Baseline,
}

/// The run with the tests, runner configuration and scripts of the base.
#[derive(Debug, Clone, PartialEq)]
pub enum BaseTests {
    /// The change has none of those files, so its own run is also this run.
    Same,
    /// The run.
    Run {
        /// The result.
        run: Box<TestRun>,
        /// The files of the base that replaced those of the change.
        restored: Vec<String>,
    },
    /// Not run: the task is about the tests.
    Skipped,
}

/// One test run, and the cases that were run again.
#[derive(Debug, Clone, PartialEq)]
pub struct TestRun {
    /// The result.
    pub result: TestResult,
    /// Cases that failed and then passed on the same files.
    pub flaky: Vec<String>,
}
