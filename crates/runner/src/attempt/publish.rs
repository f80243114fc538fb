//! One commit, written down before it is published, and published at most once.

use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use windlass_core::place::{Commit, Place};
use windlass_core::task::{
    AttemptNumber, Broadcast, EventFilter, Outcome, Proof, TaskId, TaskStatus, TestResult,
};
use windlass_core::visible;

use super::correct::Proven;
use super::retry::pause;
use super::trace::backend_error;
use super::{Attempt, Done, Fault, Worked, patiently};
use crate::prompt::cut;

/// How often a repository that was busy is asked again.
const TRIES: u32 = 3;

/// The branch that holds a task's change.
pub fn branch_of(task: TaskId) -> String {
    format!("windlass/task-{task}")
}

/// What is about to be published: enough to end the task by, should the attempt die right after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Intent {
    attempt: AttemptNumber,
    commit: String,
    proof: Option<Proof>,
    output: String,
}

impl Intent {
    fn done(self, task: TaskId) -> Done {
        Done {
            outcome: Outcome::Completed {
                proof: self.proof.map(Box::new),
                branch: Some(branch_of(task)),
                output: self.output,
            },
        }
    }
}

/// Completes what an earlier attempt published and did not live to say; else gives what it had in mind, if anything.
pub(super) async fn recover(attempt: &Attempt<'_>) -> Worked<Result<Done, Option<Intent>>> {
    let runner = attempt.runner;
    let task = attempt.at.task;
    let written = patiently(&*runner.clock, || runner.store.intended(task)).await?;
    let Some(intent) = written.and_then(|text| serde_json::from_str::<Intent>(&text).ok()) else {
        return Ok(Err(None));
    };
    if published(attempt).await?.as_ref() != Some(&intent.commit) {
        return Ok(Err(Some(intent)));
    }
    if was_told(attempt, intent.attempt).await? {
        return Ok(Err(None));
    }
    attempt
        .say("recovery", "an earlier attempt had published its change")
        .await;
    Ok(Ok(intent.done(task)))
}

/// Whether the task was completed after this attempt had begun: then what it published is no news, and somebody wants the
/// task done again. The log knows, as each attempt begins with one message.
async fn was_told(attempt: &Attempt<'_>, number: AttemptNumber) -> Worked<bool> {
    let runner = attempt.runner;
    let mut filter = EventFilter {
        task_id: Some(attempt.at.task),
        ..EventFilter::default()
    };
    let mut begun = 0;
    loop {
        let page = patiently(&*runner.clock, || runner.store.events(filter.clone())).await?;
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
    attempt: &Attempt<'_>,
    place: &dyn Place,
    proven: Proven,
    before: Option<Intent>,
) -> Worked<Done> {
    let runner = attempt.runner;
    let step = attempt.trace.step("commit");
    let commit = place.commit(message(attempt, &proven.explanation)).await;
    step.done(&commit);
    let commit = commit?;
    let intent = Intent {
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
    let text = serde_json::to_string(&intent).map_err(|error| Fault::Failed {
        error: format!("the intent cannot be written: {error}"),
        again: false,
    })?;
    attempt.unsure.store(true, Ordering::Relaxed);
    let intend = || runner.store.intend(attempt.at, text.clone());
    patiently(&*runner.clock, intend).await?;
    let step = attempt.trace.step("publish");
    let done = push(attempt, place, &commit, before.as_ref()).await;
    match &done {
        Ok(_) => step.end(|_| {}),
        Err(fault) => step.end(|node| node.error = Some(backend_error(fault.to_string()))),
    }
    Ok(match done? {
        Landed::Ours => intent.done(attempt.at.task),
        Landed::Theirs => before.unwrap_or(intent).done(attempt.at.task),
    })
}

/// Whose change is on the branch.
enum Landed {
    Ours,
    /// That of an earlier attempt, which was stopped between its intent and its publishing and then went on.
    Theirs,
}

async fn push(
    attempt: &Attempt<'_>,
    place: &dyn Place,
    commit: &Commit,
    before: Option<&Intent>,
) -> Worked<Landed> {
    let branch = branch_of(attempt.at.task);
    let theirs = before.map(|before| &before.commit);
    if theirs.is_some() && published(attempt).await?.as_ref() == theirs {
        return Ok(Landed::Theirs);
    }
    let mut tried = 0;
    loop {
        let Err(error) = place.publish(commit, &branch).await else {
            return Ok(Landed::Ours);
        };
        // What the branch shows counts, whatever the answer was.
        let there = published(attempt).await?;
        if there.as_ref() == Some(&commit.id) {
            return Ok(Landed::Ours);
        }
        if there.is_some() && there.as_ref() == theirs {
            return Ok(Landed::Theirs);
        }
        tried += 1;
        if tried == TRIES || !error.retry().is_worthwhile() {
            attempt.unsure.store(false, Ordering::Relaxed);
            return Err(Fault::Failed {
                error: format!("the change could not be published: {error}"),
                again: true,
            });
        }
        let clock = &attempt.runner.clock;
        clock.sleep(pause(&**clock, tried)).await;
    }
}

/// Where the task's branch stands. A repository that is busy is asked again.
async fn published(attempt: &Attempt<'_>) -> Worked<Option<String>> {
    let branch = branch_of(attempt.at.task);
    let runner = attempt.runner;
    let mut tried = 0;
    loop {
        match runner.workspace.branch(&attempt.project, &branch).await {
            Err(error) if tried < TRIES && error.retry().is_worthwhile() => {
                runner.clock.sleep(pause(&*runner.clock, tried)).await;
                tried += 1;
            }
            found => return Ok(found?),
        }
    }
}

/// The commit's message: title, explanation, and the trailers by which recovery and `git log --grep` find it.
fn message(attempt: &Attempt<'_>, explanation: &str) -> String {
    let title = attempt.task.title.split_whitespace().collect::<Vec<_>>();
    format!(
        "{}\n\n{}\n\nTask-Id: {}\nAttempt: {}\n",
        visible(&cut(&title.join(" "), 100)),
        visible(&cut(explanation.trim(), 4000)),
        attempt.at.task,
        attempt.at.number
    )
}

fn proof(
    attempt: &Attempt<'_>,
    place: &dyn Place,
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
