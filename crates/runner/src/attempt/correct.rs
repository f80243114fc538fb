//! Runs the tests, and corrects failures in rounds.

use serde_json::json;
use windlass_tasks::{
    Broadcast, Change, Correction, TestPlan, TestResult, TestStatus, WorkingCopy,
};

use super::edit::{Edit, Editor};
use super::{AttemptContext, AttemptError, AttemptResult, prompts, retry_transient};
use crate::template::truncate_end;

/// A change that passed the tests.
pub(super) struct VerifiedChange {
    pub(super) change: Change,
    /// The passing test run. `None` if the project is configured to have no tests.
    pub(super) tests: Option<TestResult>,
    /// The agent's explanation of the change.
    pub(super) explanation: String,
}

/// Result of checking the current files.
enum CheckOutcome {
    Passed(Change, Option<TestResult>),
    TestsFailed(Box<TestResult>),
    NoChange,
    NotApplied(String),
}

/// Runs the first edit, the tests, and corrections until the change passes.
pub(super) async fn edit_until_passing(
    attempt: &AttemptContext<'_>,
    working_copy: &dyn WorkingCopy,
    plan: &TestPlan,
    editor: &mut Editor<'_, '_>,
) -> AttemptResult<VerifiedChange> {
    let edit = editor.first_edit().await?;
    let outcome = check(attempt, working_copy, plan, &edit).await?;
    self_correction(attempt, working_copy, plan, editor, (edit, outcome)).await
}

/// `_self_correction_loop` of the worker's contract: corrects until the change passes, or asks a person after
/// the last round.
async fn self_correction(
    attempt: &AttemptContext<'_>,
    working_copy: &dyn WorkingCopy,
    plan: &TestPlan,
    editor: &mut Editor<'_, '_>,
    (mut edit, mut outcome): (Edit, CheckOutcome),
) -> AttemptResult<VerifiedChange> {
    let rounds = attempt.runner.settings.rounds;
    let mut round = 0;
    loop {
        let problem = match outcome {
            CheckOutcome::Passed(change, tests) => {
                return Ok(VerifiedChange {
                    change,
                    tests,
                    explanation: edit.description,
                });
            }
            problem => problem,
        };
        if round == rounds {
            return Err(AttemptError::Blocked {
                question: prompts::exhausted_question(
                    rounds,
                    &problem.summary(),
                    &edit.description,
                ),
            });
        }
        round += 1;
        attempt
            .broadcast_round(round, "in_progress", Some(problem.summary()))
            .await;
        edit = editor.correct(round, &problem.for_agent()).await?;
        outcome = check(attempt, working_copy, plan, &edit).await?;
        record_round(attempt, round, &problem, &edit, &outcome).await?;
    }
}

/// Computes the change and tests it.
async fn check(
    attempt: &AttemptContext<'_>,
    working_copy: &dyn WorkingCopy,
    plan: &TestPlan,
    edit: &Edit,
) -> AttemptResult<CheckOutcome> {
    if let Some(why) = &edit.apply_error {
        return Ok(CheckOutcome::NotApplied(why.clone()));
    }
    let span = attempt.trace.span("change");
    let change = working_copy.change().await;
    span.finish_with(&change);
    let change = change?;
    attempt.set_files(&change.files);
    if change.is_empty() {
        return Ok(CheckOutcome::NoChange);
    }
    if matches!(plan, TestPlan::None) {
        return Ok(CheckOutcome::Passed(change, None));
    }
    let result = run_and_record_tests(attempt, working_copy).await?;
    Ok(match result.status {
        TestStatus::Passed => CheckOutcome::Passed(change, Some(result)),
        _ => CheckOutcome::TestsFailed(Box::new(result)),
    })
}

/// `_run_and_record_tests` of the worker's contract.
async fn run_and_record_tests(
    attempt: &AttemptContext<'_>,
    working_copy: &dyn WorkingCopy,
) -> AttemptResult<TestResult> {
    let runner = attempt.runner;
    attempt.report_activity("tests", "running the tests").await;
    let span = attempt.trace.span("tests");
    let result = runner.verifier.verify(working_copy.root()).await?;
    span.finish(|node| {
        node.exit_code = result.exit_code;
        if result.status != TestStatus::Passed {
            node.error = Some(super::trace::backend_error(prompts::summary(&result)));
        }
    });
    let record = || runner.store.record_test(attempt.at, result.clone());
    retry_transient(&*runner.clock, record).await?;
    attempt.broadcast_tests(&result).await;
    Ok(result)
}

/// Records a correction round: the problem, the fix and the outcome.
async fn record_round(
    attempt: &AttemptContext<'_>,
    round: u32,
    problem: &CheckOutcome,
    edit: &Edit,
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
            Self::Passed(..) => TestStatus::Passed,
            Self::TestsFailed(result) => result.status,
            Self::NoChange | Self::NotApplied(_) => TestStatus::Error,
        }
    }

    /// Returns the correction text for the agent.
    fn for_agent(&self) -> String {
        match self {
            Self::Passed(..) => String::new(),
            Self::TestsFailed(result) => prompts::failure_report(result),
            Self::NoChange => prompts::no_change(),
            Self::NotApplied(why) => prompts::apply_failed(why),
        }
    }

    /// Returns a summary for people.
    fn summary(&self) -> String {
        match self {
            Self::Passed(..) => "the tests passed".to_owned(),
            Self::TestsFailed(result) => format!("tests: {}", prompts::summary(result)),
            Self::NoChange => "the agent finished without changing any file".to_owned(),
            Self::NotApplied(why) => {
                format!("the files could not be applied: {}", truncate_end(why, 500))
            }
        }
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
