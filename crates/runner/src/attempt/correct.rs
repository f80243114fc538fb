//! Tests, and the rounds in which what they show is mended.

use serde_json::json;
use windlass_core::place::{Change, Place, TestPlan};
use windlass_core::task::{Broadcast, Correction, TestResult, TestStatus};

use super::edit::{Edit, Editor};
use super::{Attempt, Fault, Worked, patiently, words};
use crate::prompt::cut;

/// A change that passed.
pub(super) struct Proven {
    pub(super) change: Change,
    /// The green run. `None`: the project expressly has no tests.
    pub(super) tests: Option<TestResult>,
    /// What was changed and why, in the agent's words.
    pub(super) explanation: String,
}

/// What is to be thought of the files as they are now.
enum Verdict {
    Passed(Change, Option<TestResult>),
    Red(Box<TestResult>),
    Empty,
    Refused(String),
}

/// The first edit, the tests, and as many corrections as it takes and may take.
pub(super) async fn prove(
    attempt: &Attempt<'_>,
    place: &dyn Place,
    plan: &TestPlan,
    editor: &mut Editor<'_, '_>,
) -> Worked<Proven> {
    let edit = editor.begin().await?;
    let verdict = judge(attempt, place, plan, &edit).await?;
    self_correction(attempt, place, plan, editor, (edit, verdict)).await
}

/// `_self_correction_loop` of the worker's contract: until the change passes, or a person must say how to go on.
async fn self_correction(
    attempt: &Attempt<'_>,
    place: &dyn Place,
    plan: &TestPlan,
    editor: &mut Editor<'_, '_>,
    (mut edit, mut verdict): (Edit, Verdict),
) -> Worked<Proven> {
    let rounds = attempt.runner.settings.rounds;
    let mut round = 0;
    loop {
        let problem = match verdict {
            Verdict::Passed(change, tests) => {
                return Ok(Proven {
                    change,
                    tests,
                    explanation: edit.description,
                });
            }
            problem => problem,
        };
        if round == rounds {
            return Err(Fault::Blocked {
                question: words::exhausted_question(rounds, &problem.in_short(), &edit.description),
            });
        }
        round += 1;
        attempt
            .tell_round(round, "in_progress", Some(problem.in_short()))
            .await;
        edit = editor.correct(round, &problem.for_agent()).await?;
        verdict = judge(attempt, place, plan, &edit).await?;
        record(attempt, round, &problem, &edit, &verdict).await?;
    }
}

/// Looks at what differs, and tests it.
async fn judge(
    attempt: &Attempt<'_>,
    place: &dyn Place,
    plan: &TestPlan,
    edit: &Edit,
) -> Worked<Verdict> {
    if let Some(why) = &edit.refused {
        return Ok(Verdict::Refused(why.clone()));
    }
    let step = attempt.trace.step("change");
    let change = place.change().await;
    step.done(&change);
    let change = change?;
    attempt.saw(&change.files);
    if change.is_empty() {
        return Ok(Verdict::Empty);
    }
    if matches!(plan, TestPlan::None) {
        return Ok(Verdict::Passed(change, None));
    }
    let result = run_and_record_tests(attempt, place).await?;
    Ok(match result.status {
        TestStatus::Passed => Verdict::Passed(change, Some(result)),
        _ => Verdict::Red(Box::new(result)),
    })
}

/// `_run_and_record_tests` of the worker's contract.
async fn run_and_record_tests(attempt: &Attempt<'_>, place: &dyn Place) -> Worked<TestResult> {
    let runner = attempt.runner;
    attempt.say("tests", "the tests are run").await;
    let step = attempt.trace.step("tests");
    let result = runner.verifier.verify(place.root()).await?;
    step.end(|node| {
        node.exit_code = result.exit_code;
        if result.status != TestStatus::Passed {
            node.error = Some(super::trace::backend_error(words::summary(&result)));
        }
    });
    let record = || runner.store.record_test(attempt.at, result.clone());
    patiently(&*runner.clock, record).await?;
    attempt.tell_tests(&result).await;
    Ok(result)
}

/// Writes a round down: what was wrong, what was done, how it ended.
async fn record(
    attempt: &Attempt<'_>,
    round: u32,
    problem: &Verdict,
    edit: &Edit,
    verdict: &Verdict,
) -> Worked<()> {
    let correction = Correction {
        round,
        error_analysis: edit.analysis.clone().unwrap_or_else(|| problem.in_short()),
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
    patiently(&*runner.clock, write).await?;
    let (status, summary) = match verdict {
        Verdict::Passed(..) => ("success", None),
        problem => ("failed", Some(problem.in_short())),
    };
    attempt.tell_round(round, status, summary).await;
    Ok(())
}

impl Verdict {
    fn status(&self) -> TestStatus {
        match self {
            Self::Passed(..) => TestStatus::Passed,
            Self::Red(result) => result.status,
            Self::Empty | Self::Refused(_) => TestStatus::Error,
        }
    }

    /// What an agent is told that is to mend it.
    fn for_agent(&self) -> String {
        match self {
            Self::Passed(..) => String::new(),
            Self::Red(result) => words::failures(result),
            Self::Empty => words::nothing_changed(),
            Self::Refused(why) => words::refused(why),
        }
    }

    /// What a person is told.
    fn in_short(&self) -> String {
        match self {
            Self::Passed(..) => "the tests passed".to_owned(),
            Self::Red(result) => format!("the tests: {}", words::summary(result)),
            Self::Empty => "the agent says it is done, and no file has changed".to_owned(),
            Self::Refused(why) => format!("the files could not be put in place: {}", cut(why, 500)),
        }
    }
}

impl Attempt<'_> {
    async fn tell_round(&self, round: u32, status: &str, error_summary: Option<String>) {
        let message = Broadcast::CorrectionAttempt {
            project_id: self.project.id,
            task_id: self.task.id,
            attempt_num: round,
            max_attempts: self.runner.settings.rounds,
            status: status.to_owned(),
            error_summary,
        };
        self.tell(message).await;
    }
}
