//! What the output or the report of a test runner says about a run.

mod failures;
mod named;

use windlass_tasks::{TestCase, TestCounts};

use super::runner_kind::RunnerKind;

pub(crate) use failures::{FailureCollector, MAX_FAILURES};
pub(crate) use named::NamedCases;

/// What one runner reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParsedRun {
    pub(crate) runner: RunnerKind,
    pub(crate) counts: TestCounts,
    /// The cases that did not pass.
    pub(crate) failures: Vec<TestCase>,
    /// All cases. `None` if the runner does not name them all.
    pub(crate) cases: Option<NamedCases>,
    /// A contradiction, as a sentence.
    pub(crate) contradiction: Option<String>,
    /// What the runner ran without reporting its tests, as a sentence.
    pub(crate) unread: Option<String>,
}

impl ParsedRun {
    /// Creates a run without named cases.
    pub(crate) fn new(runner: RunnerKind, passed: u64, failed: u64, errors: u64) -> Self {
        let total = passed.saturating_add(failed).saturating_add(errors);
        Self {
            runner,
            counts: TestCounts {
                passed,
                failed,
                errors,
                total,
            },
            failures: Vec::new(),
            cases: None,
            contradiction: None,
            unread: None,
        }
    }

    /// Creates a run from its cases.
    pub(crate) fn from_cases(runner: RunnerKind, cases: NamedCases) -> Self {
        let mut run = Self::new(runner, cases.passed, cases.failed, 0);
        run.cases = Some(cases);
        run
    }

    /// Counts some of the failed cases as errors: they have no verdict.
    #[must_use]
    pub(crate) fn with_errors(mut self, errors: u64) -> Self {
        self.counts.failed = self.counts.failed.saturating_sub(errors);
        self.counts.errors = errors;
        self.counts.total = self
            .counts
            .passed
            .saturating_add(self.counts.failed)
            .saturating_add(errors);
        self
    }

    /// Adds another part of the same run.
    pub(crate) fn add(&mut self, other: Self) {
        let errors = self.counts.errors.saturating_add(other.counts.errors);
        let mut cases = self.cases.take().unwrap_or_default();
        cases.extend(&other.cases.unwrap_or_default());
        let mut failures = std::mem::take(&mut self.failures);
        failures.extend(other.failures);
        failures.truncate(MAX_FAILURES);
        *self = Self::from_cases(self.runner, cases).with_errors(errors);
        self.failures = failures;
    }

    /// Sets the cases that did not pass.
    #[must_use]
    pub(crate) fn with_failures(mut self, failures: FailureCollector) -> Self {
        self.failures = failures.take();
        self
    }

    /// Sets the cases that the output names, if they are as many as the runner counted.
    ///
    /// If the output names fewer, the cases are unknown. If it names more, some of the lines were not written by the
    /// runner.
    #[must_use]
    pub(crate) fn with_named(mut self, cases: NamedCases) -> Self {
        let counts = self.counts;
        let failed = counts.failed.saturating_add(counts.errors);
        if cases.passed > counts.passed || cases.failed > failed {
            self.contradiction.get_or_insert(format!(
                "the output has result lines for {} passed and {} failed tests, but {} counted {} and {}",
                cases.passed, cases.failed, self.runner, counts.passed, failed
            ));
        }
        if cases.passed >= counts.passed && cases.failed >= counts.failed && !cases.is_empty() {
            self.cases = Some(cases);
        }
        self
    }
}
