//! Mocha's default report.

use windlass_tasks::CaseStatus;

use super::suite_stack::{SuiteStack, indent_of, without_time};
use super::{OutputParser, count};
use crate::test_runner::parsed::{FailureCollector, NamedCases, ParsedRun};
use crate::test_runner::runner_kind::RunnerKind;

/// Parses Mocha's default report.
#[derive(Debug, Default)]
pub(super) struct Mocha {
    passed: Option<u64>,
    failed: u64,
    ended: bool,
    /// Whether the name of the open case continues on the next line.
    name_continues: bool,
    suites: SuiteStack,
    cases: NamedCases,
    failures: FailureCollector,
}

impl OutputParser for Mocha {
    fn line(&mut self, line: &str) {
        let text = line.trim();
        let indent = indent_of(line);
        if indent == 2 && text.contains(" passing (") {
            self.passed = count(text, &["passing"]);
        } else if indent == 2 && self.passed.is_some() && text.ends_with(" failing") {
            self.failed = count(text, &["failing"]).unwrap_or(0);
            self.ended = true;
        } else if let Some(name) = numbered(text).filter(|_| self.ended && indent == 2) {
            self.failures.start(name.trim_end_matches(':'));
            self.name_continues = !name.ends_with(':');
        } else if self.name_continues && !text.is_empty() {
            self.name_continues = !text.ends_with(':');
            if let Some(case) = self.failures.last() {
                case.name = format!("{} > {}", case.name, text.trim_end_matches(':'));
            }
        } else if self.passed.is_none() && indent > 0 && !text.is_empty() {
            self.tree(indent, text);
        } else {
            self.failures.line(line);
        }
    }

    fn finish(self: Box<Self>) -> Option<ParsedRun> {
        let run = ParsedRun::new(RunnerKind::Mocha, self.passed?, self.failed, 0);
        Some(run.with_failures(self.failures).with_named(self.cases))
    }
}

impl Mocha {
    /// Reads a line of the tree of suites and tests.
    fn tree(&mut self, indent: usize, text: &str) {
        if let Some((title, status)) = result(text) {
            let name = self.suites.case_name(indent, title);
            self.cases.add_numbered(&name, status);
        } else {
            self.suites.enter(indent, text);
        }
    }
}

/// Parses `✔ title (138ms)`, `- title` and `1) title`.
fn result(text: &str) -> Option<(&str, CaseStatus)> {
    if let Some(title) = numbered(text) {
        return Some((title, CaseStatus::Failed));
    }
    let (mark, title) = text.split_once(' ')?;
    let status = match mark {
        "✔" | "✓" | "√" => CaseStatus::Passed,
        "-" => CaseStatus::Skipped,
        _ => return None,
    };
    Some((without_time(title), status))
}

/// Returns the name in `1) name`.
fn numbered(text: &str) -> Option<&str> {
    let (number, name) = text.split_once(") ")?;
    number.parse::<u32>().ok().map(|_| name)
}
