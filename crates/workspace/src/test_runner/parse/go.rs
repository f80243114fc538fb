//! `go test`, with `-v` or without.

use std::collections::VecDeque;

use windlass_tasks::{CaseResults, CaseStatus};

use super::OutputParser;
use crate::test_runner::parsed::{FailureCollector, NamedCases, ParsedRun};
use crate::test_runner::runner_kind::RunnerKind;

/// Maximum number of tests without a result that retain their output.
const MAX_PENDING_TESTS: usize = 64;
/// Maximum size of the output of one of them.
const MAX_OUTPUT_BYTES: usize = 8 << 10;

/// Parses the output of `go test`. Without `-v` it does not name the tests that passed, and a
/// package that passed counts as one.
#[derive(Debug, Default)]
pub(super) struct Go {
    seen: bool,
    passed: u64,
    failed: u64,
    errors: u64,
    packages: u64,
    verbose: bool,
    /// Indentation of the open case.
    depth: usize,
    /// With `-v` the output of a test precedes its result: the output of the latest tests, by name.
    output: VecDeque<(String, String)>,
    failures: FailureCollector,
    builds: FailureCollector,
    cases: NamedCases,
    /// The results of the package that runs; its name follows them.
    pending: Vec<(String, CaseStatus)>,
}

impl OutputParser for Go {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        let depth = line.len() - text.len();
        if let Some(rest) = text.strip_prefix("--- ") {
            self.result(rest, depth);
        } else if let Some(package) = line.strip_prefix("ok  \t") {
            self.seen = true;
            self.end_package(package);
            self.packages += 1;
            self.close();
        } else if let Some(package) = line.strip_prefix("FAIL\t") {
            self.seen = true;
            self.errors += u64::from(package.ends_with(" failed]"));
            self.end_package(package);
            self.close();
        } else if let Some(package) = line.strip_prefix("# ") {
            self.close();
            self.builds.start(package);
        } else if let Some(rest) = text.strip_prefix("=== ") {
            self.verbose |= rest.starts_with("RUN ");
            self.close();
            self.switch_to(rest.split_whitespace().nth(1).unwrap_or_default());
        } else if line == "FAIL" || line == "PASS" {
            self.close();
        } else {
            self.push_output(line);
            self.builds.line(line);
            if depth > self.depth {
                self.failures.line(line);
            }
        }
    }

    fn finish(self: Box<Self>) -> Option<ParsedRun> {
        let passed = if self.verbose {
            self.passed
        } else {
            self.packages
        };
        let run = ParsedRun::new(RunnerKind::Go, passed, self.failed, self.errors);
        let mut run = run.with_failures(self.failures);
        if self.verbose {
            run = run.with_named(self.cases);
        }
        if self.errors > 0 {
            run.failures.extend(self.builds.take());
        }
        self.seen.then_some(run)
    }
}

impl Go {
    /// Parses `FAIL: TestName (0.00s)`.
    fn result(&mut self, rest: &str, depth: usize) {
        self.close();
        let (status, name) = rest.split_once(": ").unwrap_or((rest, ""));
        let name = name.split(" (").next().unwrap_or(name);
        let status = match status {
            "PASS" => CaseStatus::Passed,
            "FAIL" => CaseStatus::Failed,
            "SKIP" => CaseStatus::Skipped,
            _ => return,
        };
        if self.pending.len() < CaseResults::MAX {
            self.pending.push((name.to_owned(), status));
        }
        self.passed += u64::from(status == CaseStatus::Passed);
        if status == CaseStatus::Failed {
            self.failed += 1;
            self.depth = depth;
            self.failures.start(name);
            if let Some((_, output)) = self.output.iter().find(|(test, _)| test == name) {
                output.lines().for_each(|line| self.failures.line(line));
            }
        }
    }

    /// Parses `lab/ok\t0.021s`: the results before it belong to this package.
    fn end_package(&mut self, package: &str) {
        let package = package.split(['\t', ' ']).next().unwrap_or(package);
        for (name, status) in std::mem::take(&mut self.pending) {
            self.cases.add(&format!("{package} {name}"), status);
        }
    }

    /// Parses `RUN   TestName`: the following lines belong to this test.
    fn switch_to(&mut self, name: &str) {
        let known = self.output.iter().position(|(test, _)| test == name);
        let entry = known.and_then(|index| self.output.remove(index));
        self.output
            .push_back(entry.unwrap_or_else(|| (name.to_owned(), String::new())));
        if self.output.len() > MAX_PENDING_TESTS {
            self.output.pop_front();
        }
    }

    fn push_output(&mut self, line: &str) {
        if let Some((_, output)) = self.output.back_mut()
            && output.len() + line.len() < MAX_OUTPUT_BYTES
        {
            output.push_str(line);
            output.push('\n');
        }
    }

    fn close(&mut self) {
        self.failures.close();
        self.builds.close();
    }
}
