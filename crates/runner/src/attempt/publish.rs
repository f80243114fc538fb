//! Publishes one commit at most once; the intent is recorded first.

use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use windlass_tasks::{
    AttemptNumber, BaseTests, Baseline, Commit, Outcome, Proof, ProvedPart, TaskId, TestSummary,
    Warning, WarningKind, WorkingCopy,
};

use super::correct::{PassedTests, VerifiedChange};
use super::retry::backoff;
use super::trace::backend_error;
use super::{AttemptContext, AttemptError, AttemptResult, FinishedWork, retry_transient};

/// Maximum number of attempts to access a busy repository.
const MAX_RETRIES: u32 = 3;

/// Returns the branch that contains a task's change. It has the id of the store, because several stores can have
/// tasks for one repository. Without an id, it is the name that earlier versions used.
pub fn branch_name(store: Option<&str>, task: TaskId) -> String {
    match store {
        Some(store) => format!("windlass/{store}/task-{task}"),
        None => format!("windlass/task-{task}"),
    }
}

/// The commit that is about to be published, with everything that is needed to complete the task if the
/// attempt crashes right after publishing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PublishIntent {
    attempt: AttemptNumber,
    commit: String,
    /// The branch. Earlier versions did not record it.
    #[serde(default)]
    branch: Option<String>,
    proof: Option<Proof>,
    output: String,
}

impl PublishIntent {
    fn branch(&self, task: TaskId) -> String {
        let branch = self.branch.clone();
        branch.unwrap_or_else(|| branch_name(None, task))
    }

    fn into_finished(self, task: TaskId) -> FinishedWork {
        FinishedWork {
            outcome: Outcome::Completed {
                branch: Some(self.branch(task)),
                proof: self.proof.map(Box::new),
                output: self.output,
            },
        }
    }
}

impl AttemptContext<'_> {
    fn branch_name(&self) -> String {
        branch_name(self.runner.settings.store_id.as_deref(), self.at.task)
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
    let published = branch_commit(attempt, &intent.branch(task)).await?;
    if published.as_ref() != Some(&intent.commit) {
        return Ok(Err(Some(intent)));
    }
    attempt
        .report_activity("recovery", "an earlier attempt had published its change")
        .await;
    Ok(Ok(intent.into_finished(task)))
}

/// Ends the agents, records the intent and publishes the tested commit.
pub(super) async fn publish(
    attempt: &AttemptContext<'_>,
    working_copy: &dyn WorkingCopy,
    (baseline, verified): (Option<Baseline>, VerifiedChange),
    earlier_intent: Option<PublishIntent>,
) -> AttemptResult<FinishedWork> {
    let runner = attempt.runner;
    // From here on, no process of an agent can change a file.
    attempt.close_agents().await;
    let VerifiedChange {
        commit,
        lines,
        message,
        tests,
        explanation,
    } = verified;
    let now = working_copy.commit(message).await?;
    let proof = baseline.zip(tests).map(|(baseline, tests)| {
        let mut proof = proof(attempt, working_copy, &commit, &baseline, tests);
        proof.lines = Some(lines);
        if now.tree != commit.tree {
            let detail = "files changed in the agent's clone after the tested commit was made; \
                          they are not part of the change";
            proof
                .warnings
                .push(Warning::new(WarningKind::EditedAfterTests, detail));
        }
        proof
    });
    let intent = PublishIntent {
        attempt: attempt.at.number,
        proof,
        commit: commit.id.clone(),
        branch: Some(attempt.branch_name()),
        output: explanation,
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

/// The owner of the change on the branch.
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
    let branch = attempt.branch_name();
    let earlier_commit = earlier_intent.map(|intent| &intent.commit);
    if let Some(intent) = earlier_intent {
        let published = branch_commit(attempt, &intent.branch(attempt.at.task)).await?;
        if published.as_ref() == earlier_commit {
            return Ok(PushOutcome::EarlierAttempt);
        }
    }
    let mut retries = 0;
    loop {
        let Err(error) = working_copy.publish(commit, &branch).await else {
            return Ok(PushOutcome::Ours);
        };
        // The branch decides, whatever the error was.
        let published = branch_commit(attempt, &branch).await?;
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

/// Returns the commit of a branch of the task. Retries if the repository is busy.
pub(super) async fn branch_commit(
    attempt: &AttemptContext<'_>,
    branch: &str,
) -> AttemptResult<Option<String>> {
    let runner = attempt.runner;
    let mut retries = 0;
    loop {
        match runner
            .workspace
            .branch_commit(&attempt.project, branch)
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

fn proof(
    attempt: &AttemptContext<'_>,
    working_copy: &dyn WorkingCopy,
    commit: &Commit,
    baseline: &Baseline,
    tests: PassedTests,
) -> Proof {
    let PassedTests { check, verdict } = tests;
    let part = check.part.as_ref().map(|part| ProvedPart {
        projects: part.projects.clone(),
        whole: baseline.result.command.clone(),
    });
    let baseline = check.baseline(baseline);
    let summary = TestSummary::new(&baseline.result, None);
    let setup = baseline.setup.clone();
    let mut warnings = verdict.warnings;
    let agent = attempt.task.kind.agent_id();
    let open_network = &attempt.runner.settings.open_network;
    if open_network.iter().any(|open| open == agent) {
        let detail = "the agent could reach every network host";
        warnings.push(Warning::new(WarningKind::OpenNetwork, detail));
    }
    let own = check.own.result;
    let base_tests = match &check.base_tests {
        BaseTests::Same => Some(&own),
        BaseTests::Run { run, .. } => Some(&run.result),
        BaseTests::Skipped => None,
    };
    Proof {
        base: working_copy.base().to_owned(),
        base_parts: working_copy.base_parts().to_vec(),
        commit: commit.id.clone(),
        tree: commit.tree.clone(),
        base_tests: base_tests.map(|result| TestSummary::new(result, verdict.base_cases)),
        baseline: Some(summary),
        setup,
        part,
        cases: verdict.cases,
        exit_code: own.exit_code.unwrap_or_default(),
        command: own.command,
        counts: own.counts,
        log_sha256: own.output_sha256,
        duration_ms: own.duration_ms,
        warnings,
        lines: None,
        at: attempt.runner.clock.now(),
    }
}
