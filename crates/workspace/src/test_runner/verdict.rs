//! Decides the result of a run from its exit code, its reports and its output, which must agree.

use std::path::Path;

use windlass_tasks::{CaseResults, TestCase, TestCounts, TestNote, TestNoteKind};

use super::parsed::{MAX_FAILURES, NamedCases, ParsedRun};
use super::report::{ReportError, TestReport};
use super::runner_kind::RunnerKind;

/// What is known about a run.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Whether the command exited with zero.
    pub(super) success: bool,
    /// The runner, if it is known from the command.
    pub(super) runner: Option<RunnerKind>,
    /// Whether this runner was asked for a report.
    pub(super) is_requested: bool,
    /// The result in the output.
    pub(super) output: Vec<ParsedRun>,
    pub(super) reports: Vec<TestReport>,
}

/// The result of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RunVerdict {
    pub(super) counts: TestCounts,
    pub(super) failures: Vec<TestCase>,
    pub(super) cases: Option<CaseResults>,
    pub(super) notes: Vec<TestNote>,
}

impl RunVerdict {
    /// Decides the verdict from the evidence.
    pub(super) fn new(evidence: Evidence) -> Self {
        let Evidence {
            success,
            runner,
            is_requested,
            output: mut runs,
            mut reports,
        } = evidence;
        let mut verdict = Self::default();
        // If the runner is known, output that looks like another runner's was written by a test.
        if let Some(runner) = runner {
            runs.retain(|run| {
                run.runner == runner || run.runner == RunnerKind::Unknown && !is_requested
            });
        }
        // A test may start another runner, which writes a report too.
        reports.retain(|report| runner.is_none_or(|runner| runner == report.runner));
        let has_report = !reports.is_empty();
        for report in reports {
            match report.content {
                Ok(content) => verdict.merge(content, &mut runs),
                Err(error) => {
                    let kind = match error {
                        ReportError::TooLarge => TestNoteKind::TooManyCases,
                        _ => TestNoteKind::ReportMismatch,
                    };
                    verdict.note(kind, format!("{}: {error}", report.runner));
                }
            }
        }
        if let Some(runner) = runner.filter(|_| success && is_requested && !has_report) {
            let detail = format!("{runner} exited with zero, but did not write its report");
            verdict.note(TestNoteKind::ReportMismatch, detail);
        }
        let must_report = is_requested || runner.is_some_and(RunnerKind::always_counts);
        verdict.sum(success, must_report, runs);
        verdict
    }

    /// Returns `true` if a note has this kind.
    pub(super) fn has(&self, kind: TestNoteKind) -> bool {
        self.notes.iter().any(|note| note.kind == kind)
    }

    /// Puts the directory of a project before the names of its cases: other projects may have the same names.
    pub(super) fn of_project(mut self, dir: &str) -> Self {
        self.rename_cases(|name| format!("{dir} {name}"));
        for note in &mut self.notes {
            note.detail = format!("{dir}: {}", note.detail);
        }
        self
    }

    /// Removes the path of the checkout from the names of the cases: every run has its own checkout.
    pub(super) fn relative_to(mut self, root: &Path) -> Self {
        let prefix = format!("{}/", root.display());
        self.rename_cases(|name| name.replace(&prefix, ""));
        self
    }

    fn rename_cases(&mut self, rename: impl Fn(&str) -> String) {
        for case in &mut self.failures {
            case.name = rename(&case.name);
        }
        self.cases = self.cases.take().map(|cases| {
            let mut renamed = CaseResults::default();
            for (name, status) in cases.iter() {
                renamed.insert(rename(name), status);
            }
            renamed
        });
    }

    /// Adds the result of another project. The cases are known if those of both are.
    pub(super) fn and(mut self, other: Self) -> Self {
        add(&mut self.counts, other.counts);
        self.failures.extend(other.failures);
        self.failures.truncate(MAX_FAILURES);
        self.notes.extend(other.notes);
        self.cases = self.cases.zip(other.cases).map(|(mut all, cases)| {
            for (name, status) in cases.iter() {
                all.insert(name, status);
            }
            all
        });
        self
    }

    /// Replaces the output of a runner by its report.
    fn merge(&mut self, mut report: ParsedRun, runs: &mut Vec<ParsedRun>) {
        runs.retain(|run| run.runner != RunnerKind::Unknown);
        let same = runs.iter().position(|run| run.runner == report.runner);
        if let Some(output) = same.map(|at| runs.remove(at)) {
            let (written, printed) = (report.counts, output.counts);
            if !agree(written, printed) {
                let detail = format!(
                    "the report of {} has {} passed and {} failed cases, its output {} and {}",
                    report.runner,
                    written.passed,
                    failed(written),
                    printed.passed,
                    failed(printed)
                );
                self.note(TestNoteKind::ReportMismatch, detail);
                if (failed(printed), written.passed) > (failed(written), printed.passed) {
                    report.counts = printed;
                }
                if written.total < printed.total {
                    // A second run in the same command replaced the report of the first.
                    report.counts = printed;
                    report.cases = None;
                }
            }
            if report.failures.is_empty() {
                report.failures = output.failures;
            }
        }
        runs.push(report);
    }

    /// Adds the results of all runners.
    fn sum(&mut self, success: bool, mut must_report: bool, runs: Vec<ParsedRun>) {
        let mut cases = Some(NamedCases::default());
        let mut unread = None;
        for run in runs {
            let is_known = run.runner != RunnerKind::Unknown;
            must_report |= is_known;
            add(&mut self.counts, run.counts);
            self.failures.extend(run.failures);
            if let Some(contradiction) = run.contradiction.filter(|_| success) {
                self.note(TestNoteKind::ReportMismatch, contradiction);
            }
            unread = unread.or(run.unread);
            if is_known && run.cases.is_none() && run.counts.total == 0 {
                continue;
            }
            if is_known && run.cases.is_none() {
                let sentence = format!("{} does not name every case", run.runner);
                unread.get_or_insert(sentence);
            }
            cases = cases.zip(run.cases).map(|(mut all, cases)| {
                all.extend(&cases);
                all
            });
        }
        self.failures.truncate(MAX_FAILURES);
        if success && must_report && unread.is_none() && self.counts.total == 0 {
            let detail = "the command exited with zero, but no test ran";
            self.note(TestNoteKind::NoTests, detail);
        }
        let cases = cases.filter(|cases| must_report && !cases.is_empty());
        if let Some(sentence) = unread {
            self.note(TestNoteKind::UnknownRunner, sentence);
        } else if success && cases.is_none() && !self.has(TestNoteKind::NoTests) {
            let detail = "the cases are not known; only the exit code was checked";
            self.note(TestNoteKind::UnknownRunner, detail);
        }
        if success && failed(self.counts) > 0 {
            let detail = "the command exited with zero, but tests failed";
            self.note(TestNoteKind::ReportMismatch, detail);
        }
        if let Some(dropped) = cases
            .as_ref()
            .map(|cases| cases.dropped)
            .filter(|dropped| *dropped > 0)
        {
            self.note(
                TestNoteKind::TooManyCases,
                format!("{dropped} cases are not listed"),
            );
        }
        self.cases = cases.map(NamedCases::into_results);
    }

    fn note(&mut self, kind: TestNoteKind, detail: impl Into<String>) {
        self.notes.push(TestNote::new(kind, detail));
    }
}

/// Returns `true` if a report and the output can be about the same run.
fn agree(written: TestCounts, printed: TestCounts) -> bool {
    if failed(printed) == 0 {
        failed(written) == 0 && written.passed == printed.passed
    } else {
        // A case that fails when it is torn down counts as passed and as an error in the output.
        failed(written) > 0 && written.passed <= printed.passed
    }
}

fn failed(counts: TestCounts) -> u64 {
    counts.failed.saturating_add(counts.errors)
}

fn add(sum: &mut TestCounts, counts: TestCounts) {
    sum.passed = sum.passed.saturating_add(counts.passed);
    sum.failed = sum.failed.saturating_add(counts.failed);
    sum.errors = sum.errors.saturating_add(counts.errors);
    sum.total = sum.total.saturating_add(counts.total);
}

#[cfg(test)]
mod tests;
