//! `cargo test` and `cargo nextest run`.

use super::cases::CaseCollector;
use super::{OutputParser, ParsedOutput, count};

/// Parses the output of the test harness that `cargo test` runs, and of cargo itself.
#[derive(Debug, Default)]
pub(super) struct Libtest {
    seen: bool,
    passed: u64,
    failed: u64,
    errors: u64,
    cases: CaseCollector,
    compiler: CaseCollector,
    build_failed: bool,
}

impl OutputParser for Libtest {
    fn line(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.seen = true;
            self.passed += count(result, &["passed"]).unwrap_or(0);
            self.failed += count(result, &["failed"]).unwrap_or(0);
            self.cases.close();
        } else if let Some(name) = heading(line) {
            self.cases.start(name);
        } else if line == "failures:" {
            self.cases.close();
        } else {
            self.cases.line(line);
        }
        self.compile(line);
        let text = line.trim_start();
        // A test program that was killed by a signal.
        if text.starts_with("process didn't exit successfully") && text.contains("(signal: ") {
            self.seen = true;
            self.errors += 1;
            self.cases.start("test program");
            self.cases.line(text);
            self.cases.close();
        }
    }

    fn finish(self: Box<Self>) -> Option<ParsedOutput> {
        let mut cases = self.cases.take();
        let mut errors = self.errors;
        if self.build_failed {
            errors += 1;
            cases.extend(self.compiler.take());
        }
        let known = self.seen || self.build_failed;
        known.then(|| ParsedOutput::new(self.passed, self.failed, errors, cases))
    }
}

impl Libtest {
    /// Collects compiler errors, in case the build fails.
    fn compile(&mut self, line: &str) {
        let is_error = line.starts_with("error[E") || line.starts_with("error: ");
        if line.starts_with("error: could not compile ") {
            self.build_failed = true;
            self.compiler.close();
        } else if is_error && !line.contains("test failed") {
            self.compiler.start(line);
        } else if line.is_empty() || line.starts_with("warning: ") {
            self.compiler.close();
        } else {
            self.compiler.line(line);
        }
    }
}

/// Returns the name in `---- name stdout ----`.
fn heading(line: &str) -> Option<&str> {
    let name = line.strip_prefix("---- ")?.strip_suffix(" ----")?;
    Some(name.strip_suffix(" stdout").unwrap_or(name))
}

/// Parses the output of nextest, which runs each test in its own process.
#[derive(Debug, Default)]
pub(super) struct Nextest {
    counts: Option<(u64, u64, u64)>,
    cases: CaseCollector,
}

impl OutputParser for Nextest {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        if text.starts_with("Summary [") && line.starts_with(' ') {
            let number = |word| count(line, &[word]).unwrap_or(0);
            let failed = number("failed") + number("timed");
            self.counts = Some((number("passed"), failed, number("exec")));
            self.cases.close();
            return;
        }
        match status(line, text) {
            // The list after the summary repeats the results.
            Some((word, name)) if self.counts.is_none() && is_failure(word) => {
                self.cases.start(name)
            }
            Some(_) => self.cases.close(),
            None => self.cases.line(line),
        }
    }

    fn finish(self: Box<Self>) -> Option<ParsedOutput> {
        let (passed, failed, errors) = self.counts?;
        Some(ParsedOutput::new(passed, failed, errors, self.cases.take()))
    }
}

/// Parses `FAIL [   0.010s] (1/5) lab tests::name`, right-aligned in the first columns.
fn status<'a>(line: &str, text: &'a str) -> Option<(&'a str, &'a str)> {
    let indent = line.len() - text.len();
    let (word, rest) = text.split_once(" [")?;
    let is_word = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || " +-".contains(c);
    if !(1..=12).contains(&indent) || !word.chars().all(is_word) {
        return None;
    }
    let name = rest.split_once("] ")?.1.trim_start();
    let name = match name.split_once(") ") {
        Some((progress, name)) if progress.starts_with('(') => name,
        _ => name,
    };
    Some((word, name))
}

fn is_failure(word: &str) -> bool {
    ["FAIL", "TIMEOUT", "SIG", "ABORT"]
        .iter()
        .any(|bad| word.starts_with(bad))
}
