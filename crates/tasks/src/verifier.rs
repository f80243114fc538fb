//! Test runs.

use std::fmt;
use std::path::Path;

use futures::future::BoxFuture;
use windlass_core::Result;

use crate::record::TestResult;

/// Runs a project's tests.
pub trait Verifier: fmt::Debug + Send + Sync {
    /// Returns how the project in this directory would be tested.
    fn plan<'a>(&'a self, root: &'a Path) -> BoxFuture<'a, Result<TestPlan>>;

    /// Runs the tests until they finish or reach the deadline. Failing tests are a result, not an error.
    fn verify<'a>(&'a self, root: &'a Path) -> BoxFuture<'a, Result<TestResult>>;
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
