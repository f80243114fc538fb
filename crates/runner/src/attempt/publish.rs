//! Publishes one commit at most once; the intent is recorded first.

use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use windlass_core::escape_control;
use windlass_tasks::{AttemptNumber, Commit, Outcome, Proof, TaskId, TestResult, WorkingCopy};

use super::correct::VerifiedChange;
use super::retry::backoff;
use super::trace::backend_error;
use super::{AttemptContext, AttemptError, AttemptResult, FinishedWork, retry_transient};
use crate::template::truncate_end;

/// Maximum number of attempts to access a busy repository.
const MAX_RETRIES: u32 = 3;

/// Returns the branch that contains a task's change.
pub fn branch_name(task: TaskId) -> String {
    format!("windlass/task-{task}")
}

/// The commit that is about to be published, with everything that is needed to complete the task if the
/// attempt crashes right after publishing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PublishIntent {
    attempt: AttemptNumber,
    commit: String,
    proof: Option<Proof>,
    output: String,
}

impl PublishIntent {
    fn into_finished(self, task: TaskId) -> FinishedWork {
        FinishedWork {
            outcome: Outcome::Completed {
                proof: self.proof.map(Box::new),
                branch: Some(branch_name(task)),
                output: self.output,
            },
        }
    }
}

/// Completes the task if an earlier attempt published its change but did not report it. Otherwise returns the
/// intent of that attempt, if any.
pub(super) async fn recover(
    attempt: &AttemptContext<'_>,
) -> AttemptResult<Result<FinishedWork, Option<PublishIntent>>> {
    let runner = attempt.runner;
    let task = attempt.at.task;
    let stored = retry_transient(&*runner.clock, || runner.store.pending_intent(task)).await?;
    let Some(intent) = stored.and_then(|text| serde_json::from_str::<PublishIntent>(&text).ok())
    else {
        return Ok(Err(None));
    };
    if branch_commit(attempt).await?.as_ref() != Some(&intent.commit) {
        return Ok(Err(Some(intent)));
    }
    attempt
        .report_activity("recovery", "an earlier attempt had published its change")
        .await;
    Ok(Ok(intent.into_finished(task)))
}

/// Commits the change, records the intent and publishes.
pub(super) async fn publish(
    attempt: &AttemptContext<'_>,
    working_copy: &dyn WorkingCopy,
    verified: VerifiedChange,
    earlier_intent: Option<PublishIntent>,
) -> AttemptResult<FinishedWork> {
    let runner = attempt.runner;
    let span = attempt.trace.span("commit");
    let commit = working_copy
        .commit(commit_message(attempt, &verified.explanation))
        .await;
    span.finish_with(&commit);
    let commit = commit?;
    let intent = PublishIntent {
        attempt: attempt.at.number,
        proof: verified.tests.as_ref().map(|tests| {
            proof(
                attempt,
                working_copy,
                &commit,
                tests,
                &verified.change.weakened_tests,
            )
        }),
        commit: commit.id.clone(),
        output: verified.explanation,
    };
    let text = serde_json::to_string(&intent).map_err(|error| AttemptError::Failed {
        error: format!("the publish intent cannot be serialized: {error}"),
        again: false,
    })?;
    attempt.maybe_published.store(true, Ordering::Relaxed);
    let record = || runner.store.record_intent(attempt.at, text.clone());
    retry_transient(&*runner.clock, record).await?;
    let span = attempt.trace.span("publish");
    let done = publish_with_retry(attempt, working_copy, &commit, earlier_intent.as_ref()).await;
    match &done {
        Ok(_) => span.finish(|_| {}),
        Err(error) => span.finish(|node| node.error = Some(backend_error(error.to_string()))),
    }
    Ok(match done? {
        PushOutcome::Ours => intent.into_finished(attempt.at.task),
        PushOutcome::EarlierAttempt => earlier_intent
            .unwrap_or(intent)
            .into_finished(attempt.at.task),
    })
}

/// Whose change is on the branch.
enum PushOutcome {
    Ours,
    /// The change of an earlier attempt that was paused between recording its intent and publishing, and then
    /// continued.
    EarlierAttempt,
}

async fn publish_with_retry(
    attempt: &AttemptContext<'_>,
    working_copy: &dyn WorkingCopy,
    commit: &Commit,
    earlier_intent: Option<&PublishIntent>,
) -> AttemptResult<PushOutcome> {
    let branch = branch_name(attempt.at.task);
    let earlier_commit = earlier_intent.map(|intent| &intent.commit);
    if earlier_commit.is_some() && branch_commit(attempt).await?.as_ref() == earlier_commit {
        return Ok(PushOutcome::EarlierAttempt);
    }
    let mut retries = 0;
    loop {
        let Err(error) = working_copy.publish(commit, &branch).await else {
            return Ok(PushOutcome::Ours);
        };
        // The branch decides, whatever the error was.
        let published = branch_commit(attempt).await?;
        if published.as_ref() == Some(&commit.id) {
            return Ok(PushOutcome::Ours);
        }
        if published.is_some() && published.as_ref() == earlier_commit {
            return Ok(PushOutcome::EarlierAttempt);
        }
        retries += 1;
        if retries == MAX_RETRIES || !error.retry().is_worthwhile() {
            attempt.maybe_published.store(false, Ordering::Relaxed);
            return Err(AttemptError::Failed {
                error: format!("the change could not be published: {error}"),
                again: true,
            });
        }
        let clock = &attempt.runner.clock;
        clock.sleep(backoff(&**clock, retries)).await;
    }
}

/// Returns the commit of the task's branch. Retries if the repository is busy.
async fn branch_commit(attempt: &AttemptContext<'_>) -> AttemptResult<Option<String>> {
    let branch = branch_name(attempt.at.task);
    let runner = attempt.runner;
    let mut retries = 0;
    loop {
        match runner
            .workspace
            .branch_commit(&attempt.project, &branch)
            .await
        {
            Err(error) if retries < MAX_RETRIES && error.retry().is_worthwhile() => {
                runner.clock.sleep(backoff(&*runner.clock, retries)).await;
                retries += 1;
            }
            found => return Ok(found?),
        }
    }
}

/// Returns the commit message: title, explanation, and the trailers that recovery and `git log --grep` search
/// for.
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
    working_copy: &dyn WorkingCopy,
    commit: &Commit,
    tests: &TestResult,
    weakened: &[String],
) -> Proof {
    let mut warnings = weakened.to_vec();
    let agent = attempt.task.kind.agent_id();
    if attempt
        .runner
        .settings
        .open_network
        .iter()
        .any(|open| open == agent)
    {
        warnings.push("the agent could reach every network host".to_owned());
    }
    Proof {
        base: working_copy.base().to_owned(),
        commit: commit.id.clone(),
        tree: commit.tree.clone(),
        command: tests.command.clone(),
        exit_code: tests.exit_code.unwrap_or_default(),
        counts: tests.counts,
        log_sha256: tests.output_sha256.clone(),
        duration_ms: tests.duration_ms,
        warnings,
        at: attempt.runner.clock.now(),
    }
}
