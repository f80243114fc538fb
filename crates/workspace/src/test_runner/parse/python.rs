//! pytest and unittest.

use super::cases::CaseCollector;
use super::{OutputParser, ParsedOutput, count};

/// Parses the output of pytest, quiet or not.
#[derive(Debug, Default)]
pub(super) struct Pytest {
    counts: Option<(u64, u64, u64)>,
    cases: CaseCollector,
}

impl OutputParser for Pytest {
    fn line(&mut self, line: &str) {
        let summary = line.strip_prefix("FAILED ").or(line.strip_prefix("ERROR "));
        if let Some(counts) = parse_counts(line) {
            self.counts = Some(counts);
            self.cases.close();
        } else if let Some(name) = framed(line, '_') {
            // A rule of `_ _ _` separates parts of one case.
            if !name.chars().all(|c| c == ' ' || c == '_') {
                self.cases.start(name);
            }
        } else if framed(line, '=').is_some() || framed(line, '!').is_some() {
            self.cases.close();
        } else if let Some(line) = summary {
            self.name(line);
        } else {
            self.cases.line(line);
        }
    }

    fn finish(self: Box<Self>) -> Option<ParsedOutput> {
        let (passed, failed, errors) = self.counts?;
        Some(ParsedOutput::new(passed, failed, errors, self.cases.take()))
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
        self.cases.close();
        let matches = |name: &str| name == short || name.ends_with(&suffix);
        if let Some(case) = self.cases.find(|case| matches(&case.name)) {
            id.clone_into(&mut case.name);
        } else {
            self.cases.start(id);
            self.cases.line(message);
            self.cases.close();
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

/// Parses the output of the standard library's unittest.
#[derive(Debug, Default)]
pub(super) struct Unittest {
    ran: Option<u64>,
    ended: bool,
    failed: u64,
    errors: u64,
    skipped: u64,
    cases: CaseCollector,
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
            self.cases.close();
        } else if self.ran.is_some() && ends {
            self.ended = true;
            self.parse_result(line);
        } else if let Some(name) = case {
            self.cases.start(name);
        } else if line.starts_with("======") {
            self.cases.close();
        } else if !line.starts_with("------") {
            self.cases.line(line);
        }
    }

    fn finish(self: Box<Self>) -> Option<ParsedOutput> {
        let ran = self.ran.filter(|_| self.ended)?;
        let passed = ran.saturating_sub(self.failed + self.errors + self.skipped);
        Some(ParsedOutput::new(
            passed,
            self.failed,
            self.errors,
            self.cases.take(),
        ))
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
}
