//! One commit, written down before it is published, and published at most once.

use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use windlass_core::escape_control;
use windlass_core::task::{
    AttemptNumber, Broadcast, EventFilter, Outcome, Proof, TaskId, TaskStatus, TestResult,
};
use windlass_core::workspace::{Commit, WorkingCopy};

use super::correct::VerifiedChange;
use super::retry::backoff;
use super::trace::backend_error;
use super::{AttemptContext, AttemptError, AttemptResult, FinishedWork, retry_transient};
use crate::template::truncate_end;

/// How often a repository that was busy is asked again.
const MAX_RETRIES: u32 = 3;

/// The branch that holds a task's change.
pub fn branch_name(task: TaskId) -> String {
    format!("windlass/task-{task}")
}

/// What is about to be published: enough to end the task by, should the attempt die right after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PublishIntent {
    attempt: AttemptNumber,
    commit: String,
    proof: Option<Proof>,
    output: String,
}

impl PublishIntent {
    fn done(self, task: TaskId) -> FinishedWork {
        FinishedWork {
            outcome: Outcome::Completed {
                proof: self.proof.map(Box::new),
                branch: Some(branch_name(task)),
                output: self.output,
            },
        }
    }
}

/// Completes what an earlier attempt published and did not live to say; else gives what it had in mind, if anything.
pub(super) async fn recover(
    attempt: &AttemptContext<'_>,
) -> AttemptResult<Result<FinishedWork, Option<PublishIntent>>> {
    let runner = attempt.runner;
    let task = attempt.at.task;
    let written = retry_transient(&*runner.clock, || runner.store.pending_intent(task)).await?;
    let Some(intent) = written.and_then(|text| serde_json::from_str::<PublishIntent>(&text).ok())
    else {
        return Ok(Err(None));
    };
    if branch_commit(attempt).await?.as_ref() != Some(&intent.commit) {
        return Ok(Err(Some(intent)));
    }
    if was_completed_since(attempt, intent.attempt).await? {
        return Ok(Err(None));
    }
    attempt
        .report_activity("recovery", "an earlier attempt had published its change")
        .await;
    Ok(Ok(intent.done(task)))
}

/// Whether the task was completed after this attempt had begun: then what it published is no news, and somebody wants the
/// task done again. The log knows, as each attempt begins with one message.
async fn was_completed_since(
    attempt: &AttemptContext<'_>,
    number: AttemptNumber,
) -> AttemptResult<bool> {
    let runner = attempt.runner;
    let mut filter = EventFilter {
        task_id: Some(attempt.at.task),
        ..EventFilter::default()
    };
    let mut begun = 0;
    loop {
        let page = retry_transient(&*runner.clock, || runner.store.events(filter.clone())).await?;
        let Some(last) = page.last() else {
            return Ok(false);
        };
        filter.after = last.seq;
        for event in page {
            match event.message {
                Broadcast::TaskStatus {
                    status: TaskStatus::InProgress,
                    ..
                } => begun += 1,
                Broadcast::TaskStatus {
                    status: TaskStatus::Completed,
                    ..
                } if begun >= number => return Ok(true),
                _ => {}
            }
        }
    }
}

/// Commits the change, writes down the intent, publishes.
pub(super) async fn publish(
    attempt: &AttemptContext<'_>,
    place: &dyn WorkingCopy,
    proven: VerifiedChange,
    before: Option<PublishIntent>,
) -> AttemptResult<FinishedWork> {
    let runner = attempt.runner;
    let step = attempt.trace.span("commit");
    let commit = place
        .commit(commit_message(attempt, &proven.explanation))
        .await;
    step.finish_with(&commit);
    let commit = commit?;
    let intent = PublishIntent {
        attempt: attempt.at.number,
        proof: proven.tests.as_ref().map(|tests| {
            proof(
                attempt,
                place,
                &commit,
                tests,
                &proven.change.weakened_tests,
            )
        }),
        commit: commit.id.clone(),
        output: proven.explanation,
    };
    let text = serde_json::to_string(&intent).map_err(|error| AttemptError::Failed {
        error: format!("the intent cannot be written: {error}"),
        again: false,
    })?;
    attempt.maybe_published.store(true, Ordering::Relaxed);
    let intend = || runner.store.record_intent(attempt.at, text.clone());
    retry_transient(&*runner.clock, intend).await?;
    let step = attempt.trace.span("publish");
    let done = publish_with_retry(attempt, place, &commit, before.as_ref()).await;
    match &done {
        Ok(_) => step.finish(|_| {}),
        Err(fault) => step.finish(|node| node.error = Some(backend_error(fault.to_string()))),
    }
    Ok(match done? {
        PushOutcome::Ours => intent.done(attempt.at.task),
        PushOutcome::EarlierAttempt => before.unwrap_or(intent).done(attempt.at.task),
    })
}

/// Whose change is on the branch.
enum PushOutcome {
    Ours,
    /// That of an earlier attempt, which was stopped between its intent and its publishing and then went on.
    EarlierAttempt,
}

async fn publish_with_retry(
    attempt: &AttemptContext<'_>,
    place: &dyn WorkingCopy,
    commit: &Commit,
    before: Option<&PublishIntent>,
) -> AttemptResult<PushOutcome> {
    let branch = branch_name(attempt.at.task);
    let theirs = before.map(|before| &before.commit);
    if theirs.is_some() && branch_commit(attempt).await?.as_ref() == theirs {
        return Ok(PushOutcome::EarlierAttempt);
    }
    let mut tried = 0;
    loop {
        let Err(error) = place.publish(commit, &branch).await else {
            return Ok(PushOutcome::Ours);
        };
        // What the branch shows counts, whatever the answer was.
        let there = branch_commit(attempt).await?;
        if there.as_ref() == Some(&commit.id) {
            return Ok(PushOutcome::Ours);
        }
        if there.is_some() && there.as_ref() == theirs {
            return Ok(PushOutcome::EarlierAttempt);
        }
        tried += 1;
        if tried == MAX_RETRIES || !error.retry().is_worthwhile() {
            attempt.maybe_published.store(false, Ordering::Relaxed);
            return Err(AttemptError::Failed {
                error: format!("the change could not be published: {error}"),
                again: true,
            });
        }
        let clock = &attempt.runner.clock;
        clock.sleep(backoff(&**clock, tried)).await;
    }
}

/// Where the task's branch stands. A repository that is busy is asked again.
async fn branch_commit(attempt: &AttemptContext<'_>) -> AttemptResult<Option<String>> {
    let branch = branch_name(attempt.at.task);
    let runner = attempt.runner;
    let mut tried = 0;
    loop {
        match runner
            .workspace
            .branch_commit(&attempt.project, &branch)
            .await
        {
            Err(error) if tried < MAX_RETRIES && error.retry().is_worthwhile() => {
                runner.clock.sleep(backoff(&*runner.clock, tried)).await;
                tried += 1;
            }
            found => return Ok(found?),
        }
    }
}

/// The commit's message: title, explanation, and the trailers by which recovery and `git log --grep` find it.
fn commit_message(attempt: &AttemptContext<'_>, explanation: &str) -> String {
    let title = attempt.task.title.split_whitespace().collect::<Vec<_>>();
    format!(
        "{}\n\n{}\n\nTask-Id: {}\nAttempt: {}\n",
        escape_control(&truncate_end(&title.join(" "), 100)),
        escape_control(&truncate_end(explanation.trim(), 4000)),
        attempt.at.task,
        attempt.at.number
    )
}

fn proof(
    attempt: &AttemptContext<'_>,
    place: &dyn WorkingCopy,
    commit: &Commit,
    tests: &TestResult,
    weakened: &[String],
) -> Proof {
    Proof {
        base: place.base().to_owned(),
        commit: commit.id.clone(),
        tree: commit.tree.clone(),
        command: tests.command.clone(),
        exit_code: tests.exit_code.unwrap_or_default(),
        counts: tests.counts,
        log_sha256: tests.output_sha256.clone(),
        duration_ms: tests.duration_ms,
        warnings: weakened.to_vec(),
        at: attempt.runner.clock.now(),
    }
}
