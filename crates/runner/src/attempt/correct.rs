//! Tests, and the rounds in which what they show is mended.

use serde_json::json;
use windlass_core::task::{Broadcast, Correction, TestResult, TestStatus};
use windlass_core::workspace::{Change, TestPlan, WorkingCopy};

use super::edit::{Edit, Editor};
use super::{AttemptContext, AttemptError, AttemptResult, prompts, retry_transient};
use crate::template::truncate_end;

/// A change that passed.
pub(super) struct VerifiedChange {
    pub(super) change: Change,
    /// The green run. `None`: the project expressly has no tests.
    pub(super) tests: Option<TestResult>,
    /// What was changed and why, in the agent's words.
    pub(super) explanation: String,
}

/// What is to be thought of the files as they are now.
enum CheckOutcome {
    Passed(Change, Option<TestResult>),
    TestsFailed(Box<TestResult>),
    NoChange,
    NotApplied(String),
}

/// The first edit, the tests, and as many corrections as it takes and may take.
pub(super) async fn edit_until_passing(
    attempt: &AttemptContext<'_>,
    place: &dyn WorkingCopy,
    plan: &TestPlan,
    editor: &mut Editor<'_, '_>,
) -> AttemptResult<VerifiedChange> {
    let edit = editor.first_edit().await?;
    let verdict = check(attempt, place, plan, &edit).await?;
    self_correction(attempt, place, plan, editor, (edit, verdict)).await
}

/// `_self_correction_loop` of the worker's contract: until the change passes, or a person must say how to go on.
async fn self_correction(
    attempt: &AttemptContext<'_>,
    place: &dyn WorkingCopy,
    plan: &TestPlan,
    editor: &mut Editor<'_, '_>,
    (mut edit, mut verdict): (Edit, CheckOutcome),
) -> AttemptResult<VerifiedChange> {
    let rounds = attempt.runner.settings.rounds;
    let mut round = 0;
    loop {
        let problem = match verdict {
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
        verdict = check(attempt, place, plan, &edit).await?;
        record_round(attempt, round, &problem, &edit, &verdict).await?;
    }
}

/// Looks at what differs, and tests it.
async fn check(
    attempt: &AttemptContext<'_>,
    place: &dyn WorkingCopy,
    plan: &TestPlan,
    edit: &Edit,
) -> AttemptResult<CheckOutcome> {
    if let Some(why) = &edit.refused {
        return Ok(CheckOutcome::NotApplied(why.clone()));
    }
    let step = attempt.trace.span("change");
    let change = place.change().await;
    step.finish_with(&change);
    let change = change?;
    attempt.set_files(&change.files);
    if change.is_empty() {
        return Ok(CheckOutcome::NoChange);
    }
    if matches!(plan, TestPlan::None) {
        return Ok(CheckOutcome::Passed(change, None));
    }
    let result = run_and_record_tests(attempt, place).await?;
    Ok(match result.status {
        TestStatus::Passed => CheckOutcome::Passed(change, Some(result)),
        _ => CheckOutcome::TestsFailed(Box::new(result)),
    })
}

/// `_run_and_record_tests` of the worker's contract.
async fn run_and_record_tests(
    attempt: &AttemptContext<'_>,
    place: &dyn WorkingCopy,
) -> AttemptResult<TestResult> {
    let runner = attempt.runner;
    attempt.report_activity("tests", "the tests are run").await;
    let step = attempt.trace.span("tests");
    let result = runner.verifier.verify(place.root()).await?;
    step.finish(|node| {
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

/// Writes a round down: what was wrong, what was done, how it ended.
async fn record_round(
    attempt: &AttemptContext<'_>,
    round: u32,
    problem: &CheckOutcome,
    edit: &Edit,
    verdict: &CheckOutcome,
) -> AttemptResult<()> {
    let correction = Correction {
        round,
        error_analysis: edit.analysis.clone().unwrap_or_else(|| problem.summary()),
        fix_description: edit.description.clone(),
        code_changes: match &edit.changes {
            Some(files) => files.clone(),
            None => json!(attempt.files()),
        },
        status: verdict.status(),
    };
    let runner = attempt.runner;
    let write = || {
        runner
            .store
            .record_correction(attempt.at, correction.clone())
    };
    retry_transient(&*runner.clock, write).await?;
    let (status, summary) = match verdict {
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

    /// What an agent is told that is to mend it.
    fn for_agent(&self) -> String {
        match self {
            Self::Passed(..) => String::new(),
            Self::TestsFailed(result) => prompts::failure_report(result),
            Self::NoChange => prompts::no_change(),
            Self::NotApplied(why) => prompts::apply_failed(why),
        }
    }

    /// What a person is told.
    fn summary(&self) -> String {
        match self {
            Self::Passed(..) => "the tests passed".to_owned(),
            Self::TestsFailed(result) => format!("the tests: {}", prompts::summary(result)),
            Self::NoChange => "the agent says it is done, and no file has changed".to_owned(),
            Self::NotApplied(why) => format!(
                "the files could not be put in place: {}",
                truncate_end(why, 500)
            ),
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
