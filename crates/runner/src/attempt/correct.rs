//! Runs the tests, and corrects failures in rounds.

use serde_json::json;
use windlass_tasks::{
    Baseline, Broadcast, Change, Check, CheckRequest, Commit, Correction, TestResult, TestStatus,
    WorkingCopy,
};

use super::commit_message::commit_message;
use super::conflict::unresolved_files;
use super::edit::{AgentEdit, Editor};
use super::verdict::{ChangeVerdict, GreenVerdict, TestRules, judge};
use super::{AttemptContext, AttemptError, AttemptResult, prompts, questions, retry_transient};
use crate::template::truncate_end;

/// A commit that passed the tests.
pub(super) struct VerifiedChange {
    pub(super) commit: Commit,
    /// The number of changed lines.
    pub(super) lines: u64,
    /// The message of the commit.
    pub(super) message: String,
    /// The passing test runs. `None` if the project is configured to have no tests.
    pub(super) tests: Option<PassedTests>,
    /// The agent's explanation of the change.
    pub(super) explanation: String,
}

/// The test runs of a commit that passed.
pub(super) struct PassedTests {
    pub(super) check: Check,
    pub(super) verdict: GreenVerdict,
}

/// Result of checking the current files.
pub(super) enum CheckOutcome {
    Passed(Box<VerifiedChange>),
    TestsFailed(Box<FailedTests>),
    /// No file differs from the base. Says what the base has that the task depends on.
    NoChange(Option<String>),
    NotApplied(String),
    /// These files still have conflict markers.
    Unresolved(Vec<String>),
}

/// A change that did not pass.
pub(super) struct FailedTests {
    change: Change,
    result: TestResult,
    /// Why it is not green, each as a sentence.
    reasons: Vec<String>,
}

/// Runs the first edit, the tests, and corrections until the change passes.
pub(super) async fn edit_until_passing(
    attempt: &AttemptContext<'_>,
    working_copy: &dyn WorkingCopy,
    baseline: Option<&Baseline>,
    editor: &mut Editor<'_, '_>,
) -> AttemptResult<VerifiedChange> {
    let mut edit = editor.first_edit().await?;
    loop {
        let outcome = check(attempt, working_copy, baseline, &edit).await?;
        let verified = self_correction(attempt, working_copy, baseline, editor, (edit, outcome));
        let verified = verified.await?;
        // Messages of people during the last tests are not lost: the agent answers them, and the change is tested again.
        edit = match editor.answer_new_messages().await? {
            Some(edit) => edit,
            None => return Ok(verified),
        };
    }
}

/// `_self_correction_loop` of the worker's contract: corrects until the change passes, or asks a person after
/// the last round.
async fn self_correction(
    attempt: &AttemptContext<'_>,
    working_copy: &dyn WorkingCopy,
    baseline: Option<&Baseline>,
    editor: &mut Editor<'_, '_>,
    (mut edit, mut outcome): (AgentEdit, CheckOutcome),
) -> AttemptResult<VerifiedChange> {
    let rounds = attempt.runner.settings.rounds;
    let mut round = 0;
    let mut has_asked = false;
    loop {
        let problem = match outcome {
            CheckOutcome::Passed(verified)
                if has_asked || round == rounds || !leaves_failures(attempt, &verified) =>
            {
                return Ok(*verified);
            }
            problem => problem,
        };
        has_asked |= matches!(problem, CheckOutcome::Passed(_));
        if round == rounds {
            return Err(AttemptError::Blocked {
                question: problem.question(rounds, &edit.description),
            });
        }
        round += 1;
        attempt
            .broadcast_round(round, "in_progress", Some(problem.summary()))
            .await;
        if matches!(problem, CheckOutcome::NoChange(_)) {
            editor.note_empty_change().await;
        }
        edit = editor.correct(round, &problem.for_agent()).await?;
        outcome = check(attempt, working_copy, baseline, &edit).await?;
        record_round(attempt, round, &problem, &edit, &outcome).await?;
    }
}

/// Returns `true` if tests fail that failed before too, and the task does not say which tests it is about. The
/// agent is asked once whether they are its task.
fn leaves_failures(attempt: &AttemptContext<'_>, verified: &VerifiedChange) -> bool {
    let still_failing = |tests: &PassedTests| !tests.verdict.still_failing().is_empty();
    attempt.task.tests.is_empty() && verified.tests.as_ref().is_some_and(still_failing)
}

/// Commits the change, and tests the commit.
pub(super) async fn check(
    attempt: &AttemptContext<'_>,
    working_copy: &dyn WorkingCopy,
    baseline: Option<&Baseline>,
    edit: &AgentEdit,
) -> AttemptResult<CheckOutcome> {
    if let Some(why) = &edit.apply_error {
        return Ok(CheckOutcome::NotApplied(why.clone()));
    }
    let message = commit_message(attempt, &edit.description);
    let span = attempt.trace.span("commit");
    let commit = working_copy.commit(message.clone()).await;
    span.finish_with(&commit);
    let commit = commit?;
    let span = attempt.trace.span("change");
    let change = working_copy.change_of(&commit).await;
    span.finish_with(&change);
    let change = change?;
    attempt.set_files(&change.files);
    if change.is_empty() {
        return Ok(CheckOutcome::NoChange(in_base(attempt)));
    }
    if attempt.task.merges {
        let unresolved = unresolved_files(working_copy, &change.files).await?;
        if !unresolved.is_empty() {
            return Ok(CheckOutcome::Unresolved(unresolved));
        }
    }
    let passed = |tests| {
        CheckOutcome::Passed(Box::new(VerifiedChange {
            commit: commit.clone(),
            lines: change.lines,
            message,
            tests,
            explanation: edit.description.clone(),
        }))
    };
    let Some(baseline) = baseline else {
        return Ok(passed(None));
    };
    let check = run_and_record_tests(attempt, working_copy, &commit, baseline).await?;
    let baseline = check.baseline(baseline);
    let rules = TestRules {
        named: &attempt.task.tests,
        edits_tests: attempt.task.edits_tests,
    };
    Ok(
        match judge(rules, baseline, &check, &change.weakened_tests) {
            ChangeVerdict::Green(verdict) => passed(Some(PassedTests {
                check,
                verdict: *verdict,
            })),
            ChangeVerdict::Red(reasons) => CheckOutcome::TestsFailed(Box::new(FailedTests {
                result: check.own.result,
                change,
                reasons,
            })),
        },
    )
}

/// Says which changes the base of a dependant has. They may have done its work.
fn in_base(attempt: &AttemptContext<'_>) -> Option<String> {
    let task = &attempt.task;
    let tasks: Vec<String> = task.dependencies.iter().map(ToString::to_string).collect();
    (!tasks.is_empty()).then(|| {
        format!(
            "; its base has the changes of the tasks that it depends on ({}): if they did its work already, cancel it \
             with windlass task cancel {}",
            tasks.join(", "),
            task.id
        )
    })
}

/// `_run_and_record_tests` of the worker's contract.
async fn run_and_record_tests(
    attempt: &AttemptContext<'_>,
    working_copy: &dyn WorkingCopy,
    commit: &Commit,
    baseline: &Baseline,
) -> AttemptResult<Check> {
    let runner = attempt.runner;
    attempt.report_activity("tests", "running the tests").await;
    let span = attempt.trace.span("tests");
    // The named tests may be in any project.
    let whole = (!attempt.task.tests.is_empty()).then(|| Baseline {
        projects: Vec::new(),
        ..baseline.clone()
    });
    let baseline = whole.as_ref().unwrap_or(baseline);
    let request = CheckRequest {
        commit,
        command: &baseline.result.command,
        baseline,
        edits_tests: attempt.task.edits_tests,
    };
    let check = runner.verifier.check(working_copy, request).await?;
    if let Some(part) = &check.part {
        let line = format!("tested {} only", part.projects.join(", "));
        attempt.report_activity("tests", line).await;
    }
    let result = &check.own.result;
    span.finish(|node| {
        node.exit_code = result.exit_code;
        if result.status != TestStatus::Passed {
            node.error = Some(super::trace::test_failure(prompts::summary(result)));
        }
    });
    let stored = TestResult {
        cases: None,
        ..result.clone()
    };
    let record = || runner.store.record_test(attempt.at, stored.clone());
    retry_transient(&*runner.clock, record).await?;
    attempt.broadcast_tests(result).await;
    Ok(check)
}

/// Records a correction round: the problem, the fix and the outcome.
async fn record_round(
    attempt: &AttemptContext<'_>,
    round: u32,
    problem: &CheckOutcome,
    edit: &AgentEdit,
    outcome: &CheckOutcome,
) -> AttemptResult<()> {
    let correction = Correction {
        round,
        error_analysis: edit.analysis.clone().unwrap_or_else(|| problem.summary()),
        fix_description: edit.description.clone(),
        code_changes: match &edit.changes {
            Some(files) => files.clone(),
            None => json!(attempt.files()),
        },
        status: outcome.status(),
    };
    let runner = attempt.runner;
    let write = || {
        runner
            .store
            .record_correction(attempt.at, correction.clone())
    };
    retry_transient(&*runner.clock, write).await?;
    let (status, summary) = match outcome {
        CheckOutcome::Passed(..) => ("success", None),
        problem => ("failed", Some(problem.summary())),
    };
    attempt.broadcast_round(round, status, summary).await;
    Ok(())
}

impl CheckOutcome {
    fn status(&self) -> TestStatus {
        match self {
            Self::Passed(_) => TestStatus::Passed,
            // A run that passed its own tests can still break the rules.
            Self::TestsFailed(failed) => match failed.result.status {
                TestStatus::Passed => TestStatus::Failed,
                status => status,
            },
            Self::NoChange(_) | Self::NotApplied(_) | Self::Unresolved(_) => TestStatus::Error,
        }
    }

    /// Returns the correction text for the agent.
    fn for_agent(&self) -> String {
        match self {
            Self::Passed(verified) => prompts::still_failing(verified.still_failing()),
            Self::TestsFailed(failed) => prompts::failure_report(&failed.result, &failed.reasons),
            Self::NoChange(_) => prompts::no_change(),
            Self::NotApplied(why) => prompts::apply_failed(why),
            Self::Unresolved(files) => format!(
                "There are still conflict markers in {}. Resolve every conflict.",
                files.join(", ")
            ),
        }
    }

    /// Returns a summary for people.
    pub(super) fn summary(&self) -> String {
        match self {
            Self::Passed(_) => {
                "the tests that passed before still pass, others still fail".to_owned()
            }
            Self::TestsFailed(failed) => failed.summary(),
            Self::NoChange(in_base) => {
                let in_base = in_base.as_deref().unwrap_or_default();
                format!("the agent finished without changing any file{in_base}")
            }
            Self::NotApplied(why) => {
                format!("the files could not be applied: {}", truncate_end(why, 500))
            }
            Self::Unresolved(files) => {
                format!("conflict markers are left in {}", files.join(", "))
            }
        }
    }

    /// Returns the question for a person after the last round.
    fn question(&self, rounds: u32, final_message: &str) -> String {
        let evidence = match self {
            Self::TestsFailed(failed) => {
                questions::failure_evidence(&failed.result, &failed.change.diff)
            }
            _ => String::new(),
        };
        questions::exhausted_question(rounds, &self.summary(), final_message, &evidence)
    }
}

impl FailedTests {
    fn summary(&self) -> String {
        prompts::failure_summary(&self.result, &self.reasons)
    }
}

impl VerifiedChange {
    fn still_failing(&self) -> &[String] {
        self.tests
            .as_ref()
            .map_or(&[], |tests| tests.verdict.still_failing())
    }
}

impl AttemptContext<'_> {
    async fn broadcast_round(&self, round: u32, status: &str, error_summary: Option<String>) {
        let message = Broadcast::CorrectionAttempt {
            project_id: self.project.id,
            task_id: self.task.id,
            attempt_num: round,
            max_attempts: self.runner.settings.rounds,
            status: status.to_owned(),
            error_summary,
        };
        self.broadcast(message).await;
    }
}
