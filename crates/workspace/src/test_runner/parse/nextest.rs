//! `cargo nextest run`.

use windlass_tasks::CaseStatus;

use super::{OutputParser, count};
use crate::test_runner::parsed::{FailureCollector, NamedCases, ParsedRun};
use crate::test_runner::runner_kind::RunnerKind;

/// Parses the output of nextest, which runs each test in its own process.
#[derive(Debug, Default)]
pub(super) struct Nextest {
    counts: Option<(u64, u64, u64)>,
    failures: FailureCollector,
    cases: NamedCases,
}

impl OutputParser for Nextest {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        if text.starts_with("Summary [") && line.starts_with(' ') {
            let number = |word| count(line, &[word]).unwrap_or(0);
            let failed = number("failed") + number("timed");
            self.counts = Some((number("passed"), failed, number("exec")));
            self.failures.close();
            return;
        }
        match status(line, text) {
            // The list after the summary repeats the results.
            Some(_) if self.counts.is_some() => self.failures.close(),
            Some((word, name)) if is_failure(word) => {
                self.failures.start(name);
                self.cases.add(name, CaseStatus::Failed);
            }
            Some((word, name)) => {
                self.failures.close();
                self.case(word, name);
            }
            None => self.failures.line(line),
        }
    }

    fn finish(self: Box<Self>) -> Option<ParsedRun> {
        let (passed, failed, errors) = self.counts?;
        let run = ParsedRun::new(RunnerKind::Nextest, passed, failed, errors);
        Some(run.with_failures(self.failures).with_named(self.cases))
    }
}

impl Nextest {
    /// Adds a case that did not fail.
    fn case(&mut self, word: &str, name: &str) {
        match word {
            "SKIP" => self.cases.add(name, CaseStatus::Skipped),
            // `TRY 2 PASS` is followed by `FLAKY 2/3`, or is the result itself.
            _ if word == "PASS" || word == "LEAK" || word.ends_with(" PASS") => {
                self.cases.add(name, CaseStatus::Passed);
            }
            _ => {}
        }
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
