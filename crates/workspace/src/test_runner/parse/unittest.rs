//! The standard library's unittest for Python.

use windlass_tasks::CaseStatus;

use super::OutputParser;
use crate::test_runner::parsed::{FailureCollector, NamedCases, ParsedRun};
use crate::test_runner::runner_kind::RunnerKind;

/// Parses the output of unittest. Only with `-v` it names the cases.
#[derive(Debug, Default)]
pub(super) struct Unittest {
    ran: Option<u64>,
    ended: bool,
    failed: u64,
    errors: u64,
    skipped: u64,
    failures: FailureCollector,
    cases: NamedCases,
    /// The case that runs. Its status may follow on a later line.
    running: Option<String>,
    /// Errors of a class or module, which are not cases.
    fixture_errors: u64,
}

impl OutputParser for Unittest {
    fn line(&mut self, line: &str) {
        let ends = line == "OK" || line.starts_with("OK (") || line.starts_with("FAILED (");
        let case = line.strip_prefix("FAIL: ").or(line.strip_prefix("ERROR: "));
        if let Some(rest) = line
            .strip_prefix("Ran ")
            .filter(|rest| rest.contains(" test"))
        {
            self.ran = rest
                .split(' ')
                .next()
                .and_then(|number| number.parse().ok());
            self.failures.close();
        } else if self.ran.is_some() && ends {
            self.ended = true;
            self.parse_result(line);
        } else if let Some(name) = case {
            self.failures.start(name);
        } else if line.starts_with("======") {
            self.failures.close();
        } else if !line.starts_with("------") {
            // What a test printed may follow the result.
            if !self.ended {
                self.verbose(line);
            }
            self.failures.line(line);
        }
    }

    fn finish(self: Box<Self>) -> Option<ParsedRun> {
        let ran = self.ran.filter(|_| self.ended)?;
        let named = self.cases.total();
        // A failing subtest counts as a separate failure, so the names are more exact than the summary.
        if named == ran && ran > 0 {
            let mut run = ParsedRun::from_cases(RunnerKind::Unittest, self.cases);
            run.counts.errors = self.fixture_errors;
            run.counts.total = run.counts.total.saturating_add(self.fixture_errors);
            return Some(run.with_failures(self.failures));
        }
        let bad = self.failed.saturating_add(self.errors);
        let passed = ran.saturating_sub(bad.saturating_add(self.skipped));
        let mut run = ParsedRun::new(RunnerKind::Unittest, passed, self.failed, self.errors);
        if named > ran {
            run.contradiction = Some(format!(
                "the output names {named} tests, but unittest ran {ran}"
            ));
        }
        Some(run.with_failures(self.failures))
    }
}

impl Unittest {
    /// Parses `FAILED (failures=1, errors=1, skipped=1)`.
    fn parse_result(&mut self, line: &str) {
        for part in line.split(['(', ',', ')']) {
            let (name, number) = part.trim().split_once('=').unwrap_or_default();
            let number: u64 = number.parse().unwrap_or(0);
            match name {
                "failures" | "unexpected successes" => self.failed += number,
                "errors" => self.errors += number,
                "skipped" => self.skipped += number,
                _ => {}
            }
        }
    }

    /// Parses `test_a (u.T.test_a) ... ok`, which may be spread over several lines.
    fn verbose(&mut self, line: &str) {
        let (start, rest) = line.split_once(" ... ").unwrap_or((line, ""));
        let start = start.strip_suffix(" ...").unwrap_or(start);
        // The result of a subtest is indented, and the test itself has no result then.
        let is_subtest = start.starts_with("  ");
        if let Some(name) = case_name(start.trim_start()) {
            match status(rest) {
                Some(CaseStatus::Failed) if is_subtest => {
                    if self.running.as_deref() == Some(name) {
                        self.running = None;
                        self.add(name, CaseStatus::Failed);
                    }
                }
                _ if is_subtest => {}
                Some(status) => self.add(name, status),
                None => self.running = Some(name.to_owned()),
            }
            return;
        }
        if let Some(status) = status(rest).or(status(line))
            && let Some(name) = self.running.take()
        {
            self.add(&name, status);
        }
    }

    fn add(&mut self, name: &str, status: CaseStatus) {
        let fixtures = [
            "setUpClass ",
            "tearDownClass ",
            "setUpModule ",
            "tearDownModule ",
        ];
        if fixtures.iter().any(|fixture| name.starts_with(fixture)) {
            self.fixture_errors += u64::from(status == CaseStatus::Failed);
            return;
        }
        self.cases.add(name, status);
    }
}

/// Returns the name in `test_a (u.T.test_a)`, without the parameters of a subtest.
fn case_name(text: &str) -> Option<&str> {
    let (method, rest) = text.split_once(" (")?;
    let (class, _) = rest.split_once(')')?;
    let is_name = |text: &str| {
        let is_part = |c: char| c.is_alphanumeric() || "_.<>".contains(c);
        !text.is_empty() && text.chars().all(is_part)
    };
    let length = method.len() + " (".len() + class.len() + ")".len();
    (is_name(method) && is_name(class))
        .then(|| text.get(..length))
        .flatten()
}

fn status(text: &str) -> Option<CaseStatus> {
    match text {
        "ok" => Some(CaseStatus::Passed),
        "FAIL" | "ERROR" | "unexpected success" => Some(CaseStatus::Failed),
        "expected failure" => Some(CaseStatus::Skipped),
        _ if text.starts_with("skipped ") => Some(CaseStatus::Skipped),
        _ => None,
    }
}
