//! pytest.

use super::{OutputParser, count};
use crate::test_runner::parsed::{FailureCollector, ParsedRun};
use crate::test_runner::runner_kind::RunnerKind;

/// Parses the output of pytest, quiet or not.
#[derive(Debug, Default)]
pub(super) struct Pytest {
    counts: Option<(u64, u64, u64)>,
    failures: FailureCollector,
}

impl OutputParser for Pytest {
    fn line(&mut self, line: &str) {
        let summary = line.strip_prefix("FAILED ").or(line.strip_prefix("ERROR "));
        if let Some((passed, failed, errors)) = parse_counts(line) {
            // A command may run pytest more than once.
            let before = self.counts.unwrap_or_default();
            self.counts = Some((
                passed.saturating_add(before.0),
                failed.saturating_add(before.1),
                errors.saturating_add(before.2),
            ));
            self.failures.close();
        } else if let Some(name) = framed(line, '_') {
            // A rule of `_ _ _` separates parts of one case.
            if !name.chars().all(|c| c == ' ' || c == '_') {
                self.failures.start(name);
            }
        } else if framed(line, '=').is_some() || framed(line, '!').is_some() {
            self.failures.close();
        } else if let Some(line) = summary {
            self.name(line);
        } else {
            self.failures.line(line);
        }
    }

    fn finish(self: Box<Self>) -> Option<ParsedRun> {
        let (passed, failed, errors) = self.counts?;
        let run = ParsedRun::new(RunnerKind::Pytest, passed, failed, errors);
        Some(run.with_failures(self.failures))
    }
}

impl Pytest {
    /// Parses a line of the summary, `file::class::test - message`, and gives the case its full
    /// name.
    fn name(&mut self, line: &str) {
        let (id, message) = line.split_once(" - ").unwrap_or((line, ""));
        let short = match id.split_once("::") {
            Some((_, rest)) => rest.replace("::", "."),
            None => id.to_owned(),
        };
        let suffix = format!(" {short}");
        self.failures.close();
        let matches = |name: &str| name == short || name.ends_with(&suffix);
        if let Some(case) = self.failures.find(|case| matches(&case.name)) {
            id.clone_into(&mut case.name);
        } else {
            self.failures.start(id);
            self.failures.line(message);
            self.failures.close();
        }
    }
}

/// Returns the name in `____ name ____`.
fn framed(line: &str, frame: char) -> Option<&str> {
    let inner = line.strip_prefix(frame)?.trim_start_matches(frame);
    let inner = inner.strip_prefix(' ')?.strip_suffix(frame)?;
    inner.trim_end_matches(frame).strip_suffix(' ')
}

/// Parses `2 failed, 2 passed, 1 error in 0.04s`, framed or not.
fn parse_counts(line: &str) -> Option<(u64, u64, u64)> {
    let line = line.trim_matches('=').trim();
    let (counts, time) = line.split_once(" in ")?;
    let seconds = time.split(' ').next()?.strip_suffix('s')?;
    seconds.parse::<f64>().ok()?;
    let known = [
        "passed",
        "failed",
        "error",
        "errors",
        "skipped",
        "xfailed",
        "xpassed",
        "deselected",
        "warning",
        "warnings",
    ];
    let starts_with_number = counts.starts_with(|c: char| c.is_ascii_digit());
    let has_counts = starts_with_number && count(counts, &known).is_some();
    if !has_counts && !counts.starts_with("no tests ") {
        return None;
    }
    let number = |words: &[&str]| count(counts, words).unwrap_or(0);
    let passed = number(&["passed"]) + number(&["xpassed"]);
    Some((passed, number(&["failed"]), number(&["error", "errors"])))
}
