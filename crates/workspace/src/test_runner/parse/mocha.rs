//! Mocha's default report.

use windlass_tasks::CaseStatus;

use super::{OutputParser, count};
use crate::test_runner::parsed::{FailureCollector, NamedCases, ParsedRun};
use crate::test_runner::runner_kind::RunnerKind;

/// Maximum depth of nested suites.
const MAX_DEPTH: usize = 64;

/// Parses Mocha's default report.
#[derive(Debug, Default)]
pub(super) struct Mocha {
    passed: Option<u64>,
    failed: u64,
    ended: bool,
    /// Whether the name of the open case continues on the next line.
    name_continues: bool,
    /// The suites around the current line, with their indentation.
    suites: Vec<(usize, String)>,
    cases: NamedCases,
    failures: FailureCollector,
}

impl OutputParser for Mocha {
    fn line(&mut self, line: &str) {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
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
        self.suites.retain(|(outer, _)| *outer < indent);
        let Some((title, status)) = result(text) else {
            self.suites.truncate(MAX_DEPTH);
            self.suites.push((indent, text.chars().take(400).collect()));
            return;
        };
        let suites = self.suites.iter().map(|(_, name)| name.as_str());
        let names: Vec<&str> = suites.chain([title]).collect();
        self.cases.add_numbered(&names.join(" > "), status);
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
    let is_time = |time: &str| {
        time.strip_suffix("ms)")
            .is_some_and(|time| time.parse::<u64>().is_ok())
    };
    let title = match title.rsplit_once(" (") {
        Some((title, time)) if is_time(time) => title,
        _ => title,
    };
    Some((title, status))
}

/// Returns the name in `1) name`.
fn numbered(text: &str) -> Option<&str> {
    let (number, name) = text.split_once(") ")?;
    number.parse::<u32>().ok().map(|_| name)
}
