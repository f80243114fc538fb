//! Runs broken cases again: a case that passes on the same files is flaky, not broken.

use std::path::Path;

use windlass_tasks::{CaseChanges, CaseStatus, TestResult, TestRun};

use crate::error::Result;
use crate::test_runner::TestRunner;

/// How often a broken case is run again.
const MAX_RERUNS: u32 = 3;

/// Runs the cases of a run again that passed before and failed in it.
pub(super) async fn find_flaky(
    tests: &TestRunner,
    checkout: &Path,
    before: &TestResult,
    result: TestResult,
) -> Result<TestRun> {
    let mut broken = broken(before, &result);
    let mut flaky = Vec::new();
    for _ in 0..MAX_RERUNS {
        if broken.is_empty() {
            break;
        }
        let selected = tests.rerun(checkout, &result.command, &broken);
        let command = selected.as_ref().unwrap_or(&result.command);
        let again = tests.run(checkout, command).await?;
        let Some(cases) = again.cases else { break };
        let passes = |name: &String| cases.get(name) == Some(CaseStatus::Passed);
        flaky.extend(broken.extract_if(.., |name| passes(name)));
    }
    flaky.sort();
    Ok(TestRun { result, flaky })
}

/// Returns the cases that passed before and fail now.
fn broken(before: &TestResult, result: &TestResult) -> Vec<String> {
    match (&before.cases, &result.cases) {
        (Some(before), Some(after)) => CaseChanges::between(before, after).broken,
        _ => Vec::new(),
    }
}
