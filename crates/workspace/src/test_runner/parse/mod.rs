//! Parsers for the output of test runners: counts, and the cases that did not pass.
//!
//! Every parser receives every line, because a command may run more than one test runner and does
//! not tell which. A parser that recognizes nothing returns nothing. All parsers are pure and use
//! little memory, however long the output is.

mod cases;
mod generic;
mod go;
mod javascript;
mod python;
mod rust;
mod tap;

use std::borrow::Cow;

use windlass_tasks::{TestCase, TestCounts};

/// What was recognized in the output of a run.
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

/// Parses the output of one kind of test runner.
trait OutputParser: Send {
    fn line(&mut self, line: &str);
    /// Returns the result, or `None` if this was not the output of its test runner.
    fn finish(self: Box<Self>) -> Option<ParsedOutput>;
}

/// Parses the output of any test runner.
pub(crate) struct TestOutputParser {
    parsers: Vec<Box<dyn OutputParser>>,
    generic: generic::GenericParser,
}

impl TestOutputParser {
    pub(crate) fn new() -> Self {
        Self {
            parsers: vec![
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
            generic: generic::GenericParser::default(),
        }
    }

    /// Processes the next line, without its line ending.
    pub(crate) fn line(&mut self, line: &str) {
        let line = without_color(line);
        for parser in &mut self.parsers {
            parser.line(&line);
        }
        self.generic.line(&line);
    }

    /// Returns what was recognized in all lines.
    pub(crate) fn finish(self) -> ParsedOutput {
        let mut all = ParsedOutput::default();
        let mut known = false;
        for parsed in self.parsers.into_iter().filter_map(OutputParser::finish) {
            known = true;
            all.add(parsed);
        }
        if known {
            return all;
        }
        self.generic.finish().unwrap_or_default()
    }
}

/// Returns the line without terminal escape sequences.
fn without_color(line: &str) -> Cow<'_, str> {
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
            // A color or cursor sequence: ends with a letter.
            Some('[') => drop(chars.by_ref().find(char::is_ascii_alphabetic)),
            // A title or link: ends with a terminator.
            Some(']') => drop(chars.by_ref().find(|c| matches!(c, '\u{7}' | '\\'))),
            _ => {}
        }
    }
    plain.into()
}

/// Returns the number before one of these words: `3 failed, 2 passed`.
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
