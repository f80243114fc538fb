//! Parsers for the output of test runners: counts, and the cases that did not pass.
//!
//! Every parser receives every line, because a command may run more than one test runner and does
//! not tell which. A parser that recognizes nothing returns nothing. All parsers are pure and use
//! little memory, however long the output is.

mod generic;
mod go;
mod javascript;
mod libtest;
mod maven;
mod mocha;
mod nextest;
mod node_spec;
mod node_totals;
mod pytest;
mod suite_stack;
mod tap;
mod unittest;

use std::borrow::Cow;

use super::parsed::ParsedRun;
use super::runner_kind::RunnerKind;

/// Parses the output of one kind of test runner.
trait OutputParser: Send {
    fn line(&mut self, line: &str);
    /// Returns the result, or `None` if this was not the output of its test runner.
    fn finish(self: Box<Self>) -> Option<ParsedRun>;
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
                Box::<libtest::Libtest>::default(),
                Box::<nextest::Nextest>::default(),
                Box::<pytest::Pytest>::default(),
                Box::<unittest::Unittest>::default(),
                Box::<javascript::Jest>::default(),
                Box::<javascript::Vitest>::default(),
                Box::<mocha::Mocha>::default(),
                Box::<tap::TapParser>::default(),
                Box::<node_spec::NodeSpec>::default(),
                Box::<go::Go>::default(),
                Box::<maven::Maven>::default(),
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

    /// Returns what was recognized in all lines: one run for each runner.
    pub(crate) fn finish(self) -> Vec<ParsedRun> {
        let parsers = self.parsers.into_iter();
        let known: Vec<_> = parsers.filter_map(OutputParser::finish).collect();
        if known.is_empty() {
            return self.generic.finish().into_iter().collect();
        }
        known
    }
}

/// Parses the TAP report of node's own runner.
pub(crate) fn node_tap(text: &str) -> Option<ParsedRun> {
    let mut parser = Box::<tap::TapParser>::default();
    text.lines().for_each(|line| parser.line(line));
    parser.finish().filter(|run| run.runner == RunnerKind::Node)
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
