//! The report for people that node's own test runner prints.

use windlass_tasks::CaseStatus;

use super::OutputParser;
use super::node_totals::NodeTotals;
use super::suite_stack::{SuiteStack, indent_of};
use crate::test_runner::parsed::{FailureCollector, NamedCases, ParsedRun};
use crate::test_runner::runner_kind::RunnerKind;

/// Parses node's spec report.
#[derive(Debug, Default)]
pub(super) struct NodeSpec {
    totals: NodeTotals,
    /// Whether the list of failing tests has started.
    failing: bool,
    /// The suites around the current line, and the tests that have subtests.
    parents: SuiteStack,
    cases: NamedCases,
    /// The results of the parents, which are suites or tests.
    with_children: Vec<(String, CaseStatus)>,
    failures: FailureCollector,
}

impl OutputParser for NodeSpec {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        if let Some(total) = line.strip_prefix("ℹ ") {
            self.totals.line(total);
            self.failures.close();
        } else if line == "✖ failing tests:" {
            self.failing = true;
        } else if self.failing {
            self.failing_test(line);
        } else if let Some(title) = text.strip_prefix("▶ ") {
            self.parents.enter(indent_of(line), title);
        } else if let Some((title, status)) = result(text) {
            self.result(indent_of(line), title, status);
        }
    }

    fn finish(mut self: Box<Self>) -> Option<ParsedRun> {
        let (passed, failed, errors) = self.totals.counts()?;
        // Node counts a test with subtests, but not a suite; the lines of both look the same.
        if self.with_children.len() as u64 != self.totals.suites() {
            for (name, status) in std::mem::take(&mut self.with_children) {
                self.cases.add_numbered(&name, status);
            }
        }
        let run = ParsedRun::new(RunnerKind::Node, passed, failed, errors);
        Some(run.with_failures(self.failures).with_named(self.cases))
    }
}

impl NodeSpec {
    fn result(&mut self, indent: usize, title: &str, status: CaseStatus) {
        if let Some(name) = self.parents.close(indent, title) {
            if self.with_children.len() < MAX_PARENTS {
                self.with_children.push((name, status));
            }
        } else {
            let name = self.parents.case_name(indent, title);
            self.cases.add_numbered(&name, status);
        }
    }

    /// Reads the list of failing tests at the end, which has their messages.
    fn failing_test(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("✖ ") {
            let name = name.rsplit_once(" (").map_or(name, |(name, _)| name);
            self.failures.start(name);
        } else if line.starts_with("test at ") {
            self.failures.close();
        } else {
            self.failures.line(line);
        }
    }
}

/// Maximum number of tests with subtests.
const MAX_PARENTS: usize = 100_000;

/// Parses `✔ title (1.2ms) # SKIP`.
fn result(text: &str) -> Option<(&str, CaseStatus)> {
    let (mark, rest) = text.split_once(' ')?;
    let status = match mark {
        "✔" => CaseStatus::Passed,
        "✖" => CaseStatus::Failed,
        "﹣" => CaseStatus::Skipped,
        _ => return None,
    };
    let (title, time) = rest.rsplit_once(" (")?;
    let (time, directive) = time.split_once("ms)")?;
    time.parse::<f64>().ok()?;
    let is_excused = directive.starts_with(" #");
    Some((
        title,
        if is_excused {
            CaseStatus::Skipped
        } else {
            status
        },
    ))
}
