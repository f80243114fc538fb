//! Tests merged changes as in their proofs: in a fresh checkout, with the same judge.

use windlass_tasks::{
    CheckRequest, Landing, LandingCopy, Proof, Task, TestResult, Warning, WarningKind,
};

use crate::Runner;
use crate::attempt::{ChangeVerdict, TestRules, failure_summary, judge};

/// Maximum number of failing cases that are stored.
const MAX_CASES: usize = 100;

/// A change that lands.
#[derive(Debug, Clone)]
pub(super) struct LandingChange {
    pub(super) entry: Landing,
    pub(super) task: Task,
    /// `None` if the project is configured to have no tests.
    pub(super) proof: Option<Proof>,
    /// The commit with the change.
    pub(super) commit: String,
}

/// The result of testing merged changes.
#[derive(Debug)]
pub(super) enum LandingVerdict {
    Green,
    Red {
        reason: String,
        cases: Vec<String>,
    },
    /// The tests cannot run, whatever the change is.
    CannotRun(String),
}

/// Tests the commit of a copy that has these changes.
pub(super) async fn test(
    runner: &Runner,
    copy: &dyn LandingCopy,
    changes: &[LandingChange],
) -> windlass_core::Result<LandingVerdict> {
    let working_copy = copy.working_copy();
    let commit = copy.commit();
    // The proof is about exactly this commit on this base.
    if let [
        LandingChange {
            proof: Some(proof), ..
        },
    ] = changes
        && (proof.base == working_copy.base() && proof.commit == commit.id)
    {
        return Ok(LandingVerdict::Green);
    }
    let Some(proof) = changes.iter().rev().find_map(|one| one.proof.as_ref()) else {
        return Ok(LandingVerdict::Green);
    };
    let verifier = &runner.verifier;
    // A proof of a part of a monorepo does not cover what the other changes touch.
    let command = proof
        .part
        .as_ref()
        .map_or(&proof.command, |part| &part.whole);
    let baseline = verifier.baseline(working_copy, command).await?;
    if let Some(obstacle) = &baseline.obstacle {
        return Ok(LandingVerdict::CannotRun(obstacle.reason.clone()));
    }
    let edits_tests = changes.iter().any(|one| one.task.edits_tests);
    let request = CheckRequest {
        commit,
        command,
        baseline: &baseline,
        edits_tests,
    };
    let check = verifier.check(working_copy, request).await?;
    let change = working_copy.change_of(commit).await?;
    let named: Vec<String> = changes
        .iter()
        .flat_map(|one| one.task.tests.clone())
        .collect();
    let rules = TestRules {
        named: &named,
        edits_tests,
    };
    let baseline = check.baseline(&baseline);
    let result = &check.own.result;
    Ok(
        match judge(rules, baseline, &check, &change.weakened_tests) {
            ChangeVerdict::Red(reasons) => LandingVerdict::Red {
                reason: failure_summary(result, &reasons),
                cases: new_failures(&baseline.result, result),
            },
            ChangeVerdict::Green(verdict) => match unaccepted(&verdict.warnings, changes) {
                Some(warning) => LandingVerdict::Red {
                    reason: format!("{}: {}", warning.kind.as_str(), warning.detail),
                    cases: Vec::new(),
                },
                None => LandingVerdict::Green,
            },
        },
    )
}

/// Returns the cases that fail now and did not before.
fn new_failures(before: &TestResult, after: &TestResult) -> Vec<String> {
    let failed_before = |name: &str| before.failures.iter().any(|case| case.name == name);
    let new = after.failures.iter().map(|case| case.name.clone());
    new.filter(|name| !failed_before(name))
        .take(MAX_CASES)
        .collect()
}

/// Returns a warning about the tests that no proof of these changes has: no person has accepted it.
fn unaccepted<'a>(warnings: &'a [Warning], changes: &[LandingChange]) -> Option<&'a Warning> {
    let about_tests = [
        WarningKind::ChangedTests,
        WarningKind::RemovedTests,
        WarningKind::SkippedTests,
    ];
    let accepted = |kind: &WarningKind| {
        let mut proofs = changes.iter().filter_map(|one| one.proof.as_ref());
        proofs.any(|proof| proof.warnings.iter().any(|known| known.kind == *kind))
    };
    warnings
        .iter()
        .find(|warning| about_tests.contains(&warning.kind) && !accepted(&warning.kind))
}
