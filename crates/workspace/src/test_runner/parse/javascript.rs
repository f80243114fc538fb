//! Jest and Vitest.

use super::{OutputParser, count};
use crate::test_runner::parsed::{FailureCollector, ParsedRun};
use crate::test_runner::runner_kind::RunnerKind;

/// Parses the output of Jest.
#[derive(Debug, Default)]
pub(super) struct Jest {
    counts: Option<(u64, u64)>,
    suite: String,
    errors: u64,
    failures: FailureCollector,
}

impl OutputParser for Jest {
    fn line(&mut self, line: &str) {
        let parts = ["PASS ", "Test Suites: ", "Summary of all failing tests"];
        if let Some(counts) = line.strip_prefix("Tests: ") {
            let number = |word| count(counts, &[word]).unwrap_or(0);
            self.counts = Some((number("passed"), number("failed")));
        } else if let Some(suite) = line.strip_prefix("FAIL ") {
            suite.trim().clone_into(&mut self.suite);
            self.failures.close();
        } else if parts.iter().any(|part| line.starts_with(part)) {
            self.failures.close();
        } else if let Some(name) = line.strip_prefix("  ● ") {
            self.case(name);
        } else {
            self.failures.line(line);
        }
    }

    fn finish(self: Box<Self>) -> Option<ParsedRun> {
        let (passed, failed) = self.counts?;
        let run = ParsedRun::new(RunnerKind::Jest, passed, failed, self.errors);
        Some(run.with_failures(self.failures))
    }
}

impl Jest {
    fn case(&mut self, name: &str) {
        match name {
            "Console" => self.failures.close(),
            "Test suite failed to run" => {
                let name = format!("{}: {name}", self.suite);
                // A long run reports its failures twice.
                if self.failures.find(|case| case.name == name).is_none() {
                    self.errors += 1;
                }
                self.failures.start(&name);
            }
            _ => self.failures.start(name),
        }
    }
}

/// Parses the output of Vitest.
#[derive(Debug, Default)]
pub(super) struct Vitest {
    files: bool,
    counts: Option<(u64, u64)>,
    errors: u64,
    load_failures: u64,
    failures: FailureCollector,
}

impl OutputParser for Vitest {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        if text.starts_with("Test Files  ") {
            self.files = true;
        } else if let Some(counts) = text.strip_prefix("Tests  ").filter(|_| self.files) {
            let number = |word| count(counts, &[word]).unwrap_or(0);
            // `2 passed | 1 expected fail`
            let passed = number("passed").saturating_add(number("expected"));
            self.counts = Some((passed, number("failed")));
        } else if let Some(counts) = text.strip_prefix("Errors  ").filter(|_| self.files) {
            self.errors = count(counts, &["error", "errors"]).unwrap_or(0);
        } else if let Some(name) = line.strip_prefix(" FAIL  ") {
            // Without a test name, the file could not be loaded.
            self.load_failures += u64::from(!name.contains(" > "));
            self.failures.start(name);
        } else if line.starts_with('⎯') {
            self.failures.close();
        } else {
            self.failures.line(line);
        }
    }

    fn finish(self: Box<Self>) -> Option<ParsedRun> {
        let (passed, failed) = self.counts.unwrap_or_default();
        let errors = self.errors + self.load_failures;
        let run = ParsedRun::new(RunnerKind::Vitest, passed, failed, errors);
        self.files.then(|| run.with_failures(self.failures))
    }
}
