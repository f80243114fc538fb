//! Jest and Vitest.

use windlass_tasks::CaseStatus;

use super::suite_stack::{SuiteStack, indent_of, without_time};
use super::{OutputParser, count};
use crate::test_runner::parsed::{FailureCollector, NamedCases, ParsedRun};
use crate::test_runner::runner_kind::RunnerKind;

/// Parses the output of Jest.
#[derive(Debug, Default)]
pub(super) struct Jest {
    counts: Option<(u64, u64)>,
    /// The current file.
    file: String,
    /// The file and the suites around the current line of the tree of cases; `None` outside of the tree.
    tree: Option<SuiteStack>,
    cases: NamedCases,
    errors: u64,
    failures: FailureCollector,
}

impl OutputParser for Jest {
    fn line(&mut self, line: &str) {
        if let Some(file) = strip_any(line, ["PASS ", "FAIL "]) {
            // With the time of a slow file: `PASS src/a.test.js (5.2 s)`.
            let file = file.split(" (").next().unwrap_or_default();
            file.trim().clone_into(&mut self.file);
            self.tree.insert(SuiteStack::default()).enter(0, &self.file);
            self.failures.close();
            return;
        }
        if self.is_in_tree(line) {
            return;
        }
        let parts = ["Test Suites: ", "Summary of all failing tests"];
        if let Some(counts) = line.strip_prefix("Tests: ") {
            let number = |word| count(counts, &[word]).unwrap_or(0);
            self.counts = Some((number("passed"), number("failed")));
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
        Some(run.with_failures(self.failures).with_named(self.cases))
    }
}

impl Jest {
    /// Reads a line of the tree of cases, which follows the name of a file if Jest is verbose or has one file only. Returns
    /// `false` after the tree.
    fn is_in_tree(&mut self, line: &str) -> bool {
        let text = line.trim();
        let is_tree = !text.is_empty() && line.starts_with("  ") && !text.starts_with('●');
        let Some(suites) = self.tree.as_mut().filter(|_| is_tree) else {
            self.tree = None;
            return false;
        };
        let indent = indent_of(line);
        if let Some((title, status)) = tree_case(text) {
            let name = suites.case_name(indent, title);
            self.cases.add_numbered(&name, status);
        } else {
            suites.enter(indent, text);
        }
        true
    }

    fn case(&mut self, name: &str) {
        match name {
            "Console" => self.failures.close(),
            "Test suite failed to run" => {
                let name = format!("{}: {name}", self.file);
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

/// Parses `✓ title (138 ms)`, `✕ title`, `○ skipped title` and `✎ todo title`.
fn tree_case(text: &str) -> Option<(&str, CaseStatus)> {
    let (mark, title) = text.split_once(' ')?;
    let status = match mark {
        "✓" | "√" => CaseStatus::Passed,
        "✕" | "×" => CaseStatus::Failed,
        "○" | "✎" => CaseStatus::Skipped,
        _ => return None,
    };
    let title = without_time(title);
    let title = strip_any(title, ["skipped ", "todo "]).unwrap_or(title);
    Some((title, status))
}

fn strip_any<'a>(text: &'a str, prefixes: [&str; 2]) -> Option<&'a str> {
    prefixes.iter().find_map(|prefix| text.strip_prefix(prefix))
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
