//! What counts as green: the rules, without I/O.
//!
//! A change is green if at least one test ran, nothing is broken that passed before, and the tests that the
//! task names pass. Everything else that a reviewer should know is a warning with a name.

use windlass_tasks::{
    BaseTests, Baseline, CaseChanges, CaseResults, CaseStatus, Check, TestNote, TestNoteKind,
    TestResult, TestRun, TestStatus, Warning, WarningKind,
};

/// Maximum number of names in a sentence.
const MAX_NAMES: usize = 10;

/// Settings of a task for its tests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TestRules<'a> {
    /// The tests that the task is about.
    pub(crate) named: &'a [String],
    /// The task is about the tests themselves.
    pub(crate) edits_tests: bool,
}

/// The verdict over a tested change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ChangeVerdict {
    Green(Box<GreenVerdict>),
    /// The reasons in addition to the exit code of the test command, each as a sentence.
    Red(Vec<String>),
}

/// A change that counts as green.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GreenVerdict {
    /// What a reviewer must look at.
    pub(crate) warnings: Vec<Warning>,
    /// The differences from the baseline, with the tests of the change.
    pub(crate) cases: Option<CaseChanges>,
    /// The differences from the baseline, with the tests of the base.
    pub(crate) base_cases: Option<CaseChanges>,
}

impl GreenVerdict {
    /// Returns the cases that failed before the change and still fail.
    pub(crate) fn still_failing(&self) -> &[String] {
        self.cases
            .as_ref()
            .map_or(&[], |cases| cases.still_failing.as_slice())
    }
}

/// Judges a tested change. `weakened` describes test files that the change deletes or empties.
pub(crate) fn judge(
    rules: TestRules<'_>,
    baseline: &Baseline,
    check: &Check,
    weakened: &[String],
) -> ChangeVerdict {
    let before = &baseline.result;
    let cases = case_changes(before, &check.own);
    let reasons = red_reasons(rules, before, &check.own, cases.as_ref());
    if !reasons.is_empty() || is_unexplained_failure(before, &check.own.result, cases.as_ref()) {
        return ChangeVerdict::Red(reasons);
    }
    let base_cases = match &check.base_tests {
        BaseTests::Same => cases.clone(),
        BaseTests::Run { run, .. } => case_changes(before, run),
        BaseTests::Skipped => None,
    };
    let mut warnings = own_warnings(rules, before, &check.own, cases.as_ref());
    warnings.extend(base_warnings(
        before,
        &check.base_tests,
        base_cases.as_ref(),
    ));
    if cases.is_none() && !rules.edits_tests {
        let weakened = weakened.iter();
        warnings.extend(weakened.map(|text| Warning::new(WarningKind::RemovedTests, text)));
    }
    warnings.extend(check.warnings.iter().cloned());
    ChangeVerdict::Green(Box::new(GreenVerdict {
        warnings,
        cases,
        base_cases,
    }))
}

/// Compares a run with the baseline. `None` unless both name their cases.
fn case_changes(before: &TestResult, run: &TestRun) -> Option<CaseChanges> {
    let empty = CaseResults::default();
    let before = match &before.cases {
        Some(cases) => cases,
        // Nothing ran before: every case is new.
        None if is_known_empty(before, before) => &empty,
        None => return None,
    };
    let mut changes = CaseChanges::between(before, run.result.cases.as_ref()?);
    changes.broken.retain(|name| !run.flaky.contains(name));
    changes.flaky.clone_from(&run.flaky);
    Some(changes)
}

/// Returns why a change is not green, apart from the exit code.
fn red_reasons(
    rules: TestRules<'_>,
    before: &TestResult,
    own: &TestRun,
    cases: Option<&CaseChanges>,
) -> Vec<String> {
    let result = &own.result;
    let mut reasons = Vec::new();
    let lost_names = before.cases.as_ref().is_some_and(|cases| !cases.is_empty());
    let is_complete = match result.status {
        TestStatus::Passed | TestStatus::Failed => true,
        // Tests that cannot be imported are cases too.
        TestStatus::Error => result.exit_code.is_some() && result.cases.is_some(),
        TestStatus::Timeout => false,
    };
    if is_known_empty(before, result) {
        reasons.push("no test ran: a change without a test is not proved".to_owned());
    } else if !is_complete {
        reasons.push("the tests did not run to the end".to_owned());
    } else if result.cases.is_none() && lost_names {
        reasons.push(
            "no test ran, or the test runner wrote no report: it did before the change".to_owned(),
        );
    }
    if let Some(cases) = cases {
        if !cases.broken.is_empty() {
            let names = list(&cases.broken);
            reasons.push(format!(
                "these tests passed before the change and fail now: {names}"
            ));
        }
        let known = [&cases.broken, &cases.still_failing, &cases.flaky];
        let is_known = |name: &str| known.iter().any(|names| names.iter().any(|n| n == name));
        let failing: Vec<String> = failing(result)
            .filter(|name| !is_known(name))
            .map(str::to_owned)
            .collect();
        if !failing.is_empty() {
            reasons.push(format!("these tests fail: {}", list(&failing)));
        }
    }
    if !has_mismatch(before) {
        let notes = result.notes.iter().filter(|note| is_mismatch(note));
        reasons.extend(notes.map(|note| note.detail.clone()));
    }
    reasons.extend(rules.named.iter().filter_map(|name| unfixed(result, name)));
    reasons
}

/// Returns `true` if the test command failed, and not because of tests that failed before the change.
fn is_unexplained_failure(
    before: &TestResult,
    result: &TestResult,
    cases: Option<&CaseChanges>,
) -> bool {
    let no_case_fails = |result: &TestResult| failing(result).next().is_none();
    let failed_before = before.status != TestStatus::Passed && no_case_fails(before);
    result.status != TestStatus::Passed
        && (cases.is_none() || no_case_fails(result) && !failed_before)
}

/// Returns `true` if it is known that no test ran.
fn is_known_empty(before: &TestResult, result: &TestResult) -> bool {
    let is_noted = |note: &TestNote| note.kind == TestNoteKind::NoTests;
    let is_readable = result.cases.is_some() || result.notes.iter().any(is_noted);
    let did_exit = result.exit_code == Some(0);
    result.counts.total == 0 && (is_readable || before.counts.total > 0 && did_exit)
}

fn is_mismatch(note: &TestNote) -> bool {
    note.kind == TestNoteKind::ReportMismatch
}

fn has_mismatch(result: &TestResult) -> bool {
    result.notes.iter().any(is_mismatch)
}

fn failing(result: &TestResult) -> impl Iterator<Item = &str> {
    let cases = result.cases.iter().flat_map(CaseResults::iter);
    cases
        .filter(|(_, status)| *status == CaseStatus::Failed)
        .map(|(name, _)| name)
}

/// Returns why a named test does not count as passed.
fn unfixed(result: &TestResult, name: &str) -> Option<String> {
    let cases = result.cases.as_ref()?;
    let mut found = cases
        .iter()
        .filter(|(case, _)| is_named(case, name))
        .peekable();
    if found.peek().is_none() {
        return Some(format!(
            "the test {name}, which the task is about, did not run"
        ));
    }
    let failed = found.find(|(_, status)| *status != CaseStatus::Passed)?;
    Some(format!(
        "the test {}, which the task is about, did not pass",
        failed.0
    ))
}

/// Returns `true` if the name of a case contains this name as whole words.
fn is_named(case: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    !name.is_empty()
        && case.match_indices(name).any(|(at, _)| {
            let before = case[..at].chars().next_back();
            let after = case[at + name.len()..].chars().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
}

/// Returns the warnings about the run with the change's own tests.
fn own_warnings(
    rules: TestRules<'_>,
    before: &TestResult,
    own: &TestRun,
    cases: Option<&CaseChanges>,
) -> Vec<Warning> {
    let result = &own.result;
    let mut warnings = cases.map_or_else(Vec::new, |cases| case_warnings(result, cases));
    let mut warn = |kind, detail: String| warnings.push(Warning::new(kind, detail));
    match cases {
        Some(_) => {}
        None if result.counts.total == 0 => warn(
            WarningKind::UnknownRunner,
            "the output of the test command is not understood; only its exit code was checked"
                .to_owned(),
        ),
        None if result.counts.passed < before.counts.passed => warn(
            WarningKind::RemovedTests,
            format!(
                "{} tests passed before the change, {} pass now",
                before.counts.passed, result.counts.passed
            ),
        ),
        None if result.cases.is_some() => warn(
            WarningKind::NoBaseline,
            "the tests of the base did not name their cases, so nothing could be compared"
                .to_owned(),
        ),
        None => {}
    }
    if has_mismatch(result) {
        let detail = "the report, the output and the exit code of the tests contradict each other, as before the change";
        warn(WarningKind::UnknownRunner, detail.to_owned());
    }
    if result.cases.is_none() && !rules.named.is_empty() {
        let names = list(rules.named);
        warn(
            WarningKind::UnknownRunner,
            format!(
                "the test command does not name its tests, so it is unknown whether these passed: {names}"
            ),
        );
    }
    warnings
}

/// Returns the warnings about cases that differ from those of the baseline.
fn case_warnings(result: &TestResult, cases: &CaseChanges) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |kind, detail: String| warnings.push(Warning::new(kind, detail));
    if cases.removed.len() > cases.new.len() {
        warn(
            WarningKind::RemovedTests,
            format!("these tests are gone: {}", list(&cases.removed)),
        );
    }
    if !cases.skipped.is_empty() {
        let names = list(&cases.skipped);
        warn(
            WarningKind::SkippedTests,
            format!("these tests passed before and are skipped now: {names}"),
        );
    }
    if !cases.flaky.is_empty() {
        let names = list(&cases.flaky);
        warn(
            WarningKind::FlakyTests,
            format!("these tests failed, then passed on the same files: {names}"),
        );
    }
    if !cases.still_failing.is_empty() {
        let names = list(&cases.still_failing);
        warn(
            WarningKind::StillFailing,
            format!("these tests failed before the change and still fail: {names}"),
        );
    } else if result.status == TestStatus::Failed && cases.flaky.is_empty() {
        warn(
            WarningKind::StillFailing,
            "the command failed before the change and still fails, although no test does"
                .to_owned(),
        );
    }
    warnings
}

/// Returns the warnings about the run with the tests of the base.
fn base_warnings(
    before: &TestResult,
    base_tests: &BaseTests,
    cases: Option<&CaseChanges>,
) -> Option<Warning> {
    let BaseTests::Run { run, restored } = base_tests else {
        return None;
    };
    let lost = match cases {
        Some(cases) => [cases.broken.as_slice(), &cases.removed, &cases.skipped].concat(),
        None => Vec::new(),
    };
    let result = &run.result;
    let did_pass = match cases {
        Some(_) => lost.is_empty() && !is_known_empty(before, result),
        None => result.status == TestStatus::Passed && result.counts.passed >= before.counts.passed,
    };
    if did_pass {
        return None;
    }
    let files = list(restored);
    let what = if lost.is_empty() {
        format!("the test command ended with {}", result.status.as_str())
    } else {
        format!("these do not pass: {}", list(&lost))
    };
    Some(Warning::new(
        WarningKind::ChangedTests,
        format!(
            "the change fails the tests of the base. With the base's version of {files}, {what}"
        ),
    ))
}

/// Joins names, the first few of many.
fn list(names: &[String]) -> String {
    let shown = names.iter().take(MAX_NAMES).map(String::as_str);
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if names.len() > MAX_NAMES {
        text.push_str(&format!(" and {} more", names.len() - MAX_NAMES));
    }
    text
}

#[cfg(test)]
mod tests;
