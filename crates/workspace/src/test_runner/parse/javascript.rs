//! Jest, Vitest and Mocha.

use super::cases::CaseCollector;
use super::{OutputParser, ParsedOutput, count};

/// Parses the output of Jest.
#[derive(Debug, Default)]
pub(super) struct Jest {
    counts: Option<(u64, u64)>,
    suite: String,
    errors: u64,
    cases: CaseCollector,
}

impl OutputParser for Jest {
    fn line(&mut self, line: &str) {
        let parts = ["PASS ", "Test Suites: ", "Summary of all failing tests"];
        if let Some(counts) = line.strip_prefix("Tests: ") {
            let number = |word| count(counts, &[word]).unwrap_or(0);
            self.counts = Some((number("passed"), number("failed")));
        } else if let Some(suite) = line.strip_prefix("FAIL ") {
            suite.trim().clone_into(&mut self.suite);
            self.cases.close();
        } else if parts.iter().any(|part| line.starts_with(part)) {
            self.cases.close();
        } else if let Some(name) = line.strip_prefix("  ● ") {
            self.case(name);
        } else {
            self.cases.line(line);
        }
    }

    fn finish(self: Box<Self>) -> Option<ParsedOutput> {
        let (passed, failed) = self.counts?;
        Some(ParsedOutput::new(
            passed,
            failed,
            self.errors,
            self.cases.take(),
        ))
    }
}

impl Jest {
    fn case(&mut self, name: &str) {
        match name {
            "Console" => self.cases.close(),
            "Test suite failed to run" => {
                let name = format!("{}: {name}", self.suite);
                // A long run reports its failures twice.
                if self.cases.find(|case| case.name == name).is_none() {
                    self.errors += 1;
                }
                self.cases.start(&name);
            }
            _ => self.cases.start(name),
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
    cases: CaseCollector,
}

impl OutputParser for Vitest {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        if text.starts_with("Test Files  ") {
            self.files = true;
        } else if let Some(counts) = text.strip_prefix("Tests  ").filter(|_| self.files) {
            let number = |word| count(counts, &[word]).unwrap_or(0);
            self.counts = Some((number("passed"), number("failed")));
        } else if let Some(counts) = text.strip_prefix("Errors  ").filter(|_| self.files) {
            self.errors = count(counts, &["error", "errors"]).unwrap_or(0);
        } else if let Some(name) = line.strip_prefix(" FAIL  ") {
            // Without a test name, the file could not be loaded.
            self.load_failures += u64::from(!name.contains(" > "));
            self.cases.start(name);
        } else if line.starts_with('⎯') {
            self.cases.close();
        } else {
            self.cases.line(line);
        }
    }

    fn finish(self: Box<Self>) -> Option<ParsedOutput> {
        let (passed, failed) = self.counts.unwrap_or_default();
        let errors = self.errors + self.load_failures;
        self.files
            .then(|| ParsedOutput::new(passed, failed, errors, self.cases.take()))
    }
}

/// Parses Mocha's default report.
#[derive(Debug, Default)]
pub(super) struct Mocha {
    passed: Option<u64>,
    failed: u64,
    ended: bool,
    /// Whether the name of the open case continues on the next line.
    name_continues: bool,
    cases: CaseCollector,
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
            self.cases.start(name.trim_end_matches(':'));
            self.name_continues = !name.ends_with(':');
        } else if self.name_continues && !text.is_empty() {
            self.name_continues = !text.ends_with(':');
            if let Some(case) = self.cases.last() {
                case.name = format!("{} {}", case.name, text.trim_end_matches(':'));
            }
        } else {
            self.cases.line(line);
        }
    }

    fn finish(self: Box<Self>) -> Option<ParsedOutput> {
        Some(ParsedOutput::new(
            self.passed?,
            self.failed,
            0,
            self.cases.take(),
        ))
    }
}

/// Returns the name in `1) name`.
fn numbered(text: &str) -> Option<&str> {
    let (number, name) = text.split_once(") ")?;
    number.parse::<u32>().ok().map(|_| name)
}
