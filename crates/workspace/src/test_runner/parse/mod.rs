//! What test runners print, read line by line: counts, and the cases that did not pass.
//!
//! Every line goes to every reader, as a command may run more than one runner, and nobody need say
//! which. A reader that recognises nothing has nothing to say. All of it is pure and holds little,
//! however much is printed.

mod cases;
mod generic;
mod go;
mod javascript;
mod python;
mod rust;
mod tap;

use std::borrow::Cow;

use windlass_core::task::{TestCase, TestCounts};

/// What was understood of a run's output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ParsedOutput {
    pub(crate) counts: TestCounts,
    pub(crate) cases: Vec<TestCase>,
}

impl ParsedOutput {
    fn new(passed: u64, failed: u64, errors: u64, cases: Vec<TestCase>) -> Self {
        let total = passed.saturating_add(failed).saturating_add(errors);
        Self {
            counts: TestCounts {
                passed,
                failed,
                errors,
                total,
            },
            cases,
        }
    }

    fn add(&mut self, other: Self) {
        let (mine, theirs) = (&mut self.counts, other.counts);
        mine.passed = mine.passed.saturating_add(theirs.passed);
        mine.failed = mine.failed.saturating_add(theirs.failed);
        mine.errors = mine.errors.saturating_add(theirs.errors);
        mine.total = mine.total.saturating_add(theirs.total);
        self.cases.extend(other.cases);
        self.cases.truncate(cases::MAX_CASES);
    }
}

/// Reads the output of one kind of test runner.
trait OutputParser: Send {
    fn line(&mut self, line: &str);
    /// What it understood, if this was its runner's output at all.
    fn finish(self: Box<Self>) -> Option<ParsedOutput>;
}

/// Reads the output of whatever test runner it is.
pub(crate) struct TestOutputParser {
    runners: Vec<Box<dyn OutputParser>>,
    plain: generic::GenericParser,
}

impl TestOutputParser {
    pub(crate) fn new() -> Self {
        Self {
            runners: vec![
                Box::<rust::Libtest>::default(),
                Box::<rust::Nextest>::default(),
                Box::<python::Pytest>::default(),
                Box::<python::Unittest>::default(),
                Box::<javascript::Jest>::default(),
                Box::<javascript::Vitest>::default(),
                Box::<javascript::Mocha>::default(),
                Box::<tap::TapParser>::default(),
                Box::<go::Go>::default(),
            ],
            plain: generic::GenericParser::default(),
        }
    }

    /// Takes the next line, without its end.
    pub(crate) fn line(&mut self, line: &str) {
        let line = without_colour(line);
        for runner in &mut self.runners {
            runner.line(&line);
        }
        self.plain.line(&line);
    }

    /// What was understood of all lines.
    pub(crate) fn finish(self) -> ParsedOutput {
        let mut all = ParsedOutput::default();
        let mut known = false;
        for found in self.runners.into_iter().filter_map(OutputParser::finish) {
            known = true;
            all.add(found);
        }
        if known {
            return all;
        }
        self.plain.finish().unwrap_or_default()
    }
}

/// The line without what commands a terminal.
fn without_colour(line: &str) -> Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return line.into();
    }
    let mut plain = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            plain.push(c);
            continue;
        }
        match chars.next() {
            // A colour, a move: up to its letter.
            Some('[') => drop(chars.by_ref().find(char::is_ascii_alphabetic)),
            // A title, a link: up to its end.
            Some(']') => drop(chars.by_ref().find(|c| matches!(c, '\u{7}' | '\\'))),
            _ => {}
        }
    }
    plain.into()
}

/// The number before one of these words: `3 failed, 2 passed`.
fn count(line: &str, words: &[&str]) -> Option<u64> {
    let is_gap = |c: char| c.is_whitespace() || ",;|()=.".contains(c);
    let mut before: Option<u64> = None;
    for token in line.split(is_gap).filter(|token| !token.is_empty()) {
        if before.is_some() && words.contains(&token) {
            return before;
        }
        before = token.parse().ok();
    }
    None
}

#[cfg(test)]
mod tests;
