//! TAP, which node's own test runner and others write.

use windlass_tasks::CaseStatus;

use super::OutputParser;
use super::node_totals::NodeTotals;
use crate::test_runner::parsed::{FailureCollector, NamedCases, ParsedRun};
use crate::test_runner::runner_kind::RunnerKind;

/// Maximum depth of nested tests.
const MAX_DEPTH: usize = 64;

/// Parses TAP.
#[derive(Debug, Default)]
pub(super) struct TapParser {
    totals: NodeTotals,
    is_tap: bool,
    /// The plan of the top level, `1..5`, and the results there.
    plan: Option<u64>,
    ok: u64,
    not_ok: u64,
    excused: u64,
    /// The names of the tests around the current one.
    parents: Vec<String>,
    /// The last comment of the top level. In tape's output, it names the test of the results after it.
    comment: Option<String>,
    /// The last result. It may turn out to be that of a suite.
    last: Option<(String, CaseStatus)>,
    /// The indentation of the open block of details.
    details: Option<usize>,
    failures: FailureCollector,
    cases: NamedCases,
}

impl OutputParser for TapParser {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if let Some(depth) = self.details {
            self.detail(line, text, indent == depth);
            return;
        }
        self.is_tap |= text.starts_with("TAP version ");
        if let Some(number) = plan(text) {
            self.is_tap = true;
            self.plan = self.plan.or(number.filter(|_| indent == 0));
        } else if let Some(name) = text.strip_prefix("# Subtest: ") {
            self.parents.truncate((indent / 4).min(MAX_DEPTH));
            self.parents.push(unescape(name));
            self.failures.close();
        } else if let Some(comment) = line.strip_prefix("# ") {
            self.totals.line(comment);
            self.comment = Some(unescape(comment)).filter(|comment| !comment.starts_with(' '));
            self.failures.close();
        } else if let Some(rest) = text.strip_prefix("not ok ") {
            self.result(rest, indent, CaseStatus::Failed);
        } else if let Some(rest) = text.strip_prefix("ok ") {
            self.result(rest, indent, CaseStatus::Passed);
        } else if text == "---" {
            self.details = Some(indent);
        } else {
            self.failures.line(line);
        }
    }

    fn finish(mut self: Box<Self>) -> Option<ParsedRun> {
        self.flush();
        if let Some((passed, failed, errors)) = self.totals.counts().filter(|_| self.is_tap) {
            let run = ParsedRun::new(RunnerKind::Node, passed, failed, errors);
            return Some(run.with_failures(self.failures).with_named(self.cases));
        }
        if !self.is_tap || self.ok + self.not_ok + self.excused == 0 {
            return None;
        }
        let mut run = ParsedRun::new(RunnerKind::Tap, self.ok, self.not_ok, 0);
        let results = self.ok + self.not_ok + self.excused;
        if let Some(plan) = self.plan.filter(|plan| *plan != results) {
            run.contradiction = Some(format!(
                "the TAP plan has {plan} tests, the output {results}"
            ));
        }
        run.cases = Some(self.cases);
        Some(run.with_failures(self.failures))
    }
}

impl TapParser {
    /// Parses `1 - name # SKIP reason`.
    fn result(&mut self, rest: &str, indent: usize, status: CaseStatus) {
        self.flush();
        self.failures.close();
        let is_number = |c: char| c.is_ascii_digit() || c == ' ' || c == '-';
        let rest = rest.trim_start_matches(is_number);
        let (title, is_excused) = match directive(rest) {
            Some(title) => (title, true),
            None => (rest, false),
        };
        if indent == 0 {
            let count = match status {
                _ if is_excused => &mut self.excused,
                CaseStatus::Failed => &mut self.not_ok,
                _ => &mut self.ok,
            };
            *count += 1;
        }
        let depth = (indent / 4).min(self.parents.len());
        let title = unescape(title);
        let parents = self.parents[..depth].iter();
        let comment = self.comment.iter().filter(|_| self.parents.is_empty());
        let names = comment.chain(parents).chain([&title]);
        let names: Vec<&str> = names.map(String::as_str).collect();
        let name = names.join(" > ");
        let status = if is_excused {
            CaseStatus::Skipped
        } else {
            status
        };
        if status == CaseStatus::Failed {
            self.failures.start(&name);
        }
        self.last = Some((name, status));
    }

    /// Reads a line of the details of a result, which may quote anything.
    fn detail(&mut self, line: &str, text: &str, is_outermost: bool) {
        match text {
            "..." if is_outermost => {
                self.details = None;
                self.failures.close();
            }
            "type: 'suite'" if is_outermost => self.last = None,
            // The failing subtest was already reported.
            "failureType: 'subtestsFailed'" if is_outermost => self.failures.discard(),
            _ => self.failures.line(line),
        }
    }

    fn flush(&mut self) {
        if let Some((name, status)) = self.last.take() {
            self.cases.add_numbered(&name, status);
        }
    }
}

/// Returns the title before a directive that excludes the result.
fn directive(text: &str) -> Option<&str> {
    let (title, directive) = text.rsplit_once(" # ")?;
    let directive = directive.trim_start().to_ascii_uppercase();
    let is_excused = directive.starts_with("SKIP") || directive.starts_with("TODO");
    is_excused.then_some(title)
}

/// Removes the backslashes in front of special characters.
fn unescape(text: &str) -> String {
    text.replace("\\#", "#").replace("\\\\", "\\")
}

/// Parses a plan line such as `1..5`. The number is `None` if it is too large.
fn plan(text: &str) -> Option<Option<u64>> {
    let rest = text.strip_prefix("1..")?;
    let is_plan = !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit());
    is_plan.then(|| rest.parse().ok())
}
