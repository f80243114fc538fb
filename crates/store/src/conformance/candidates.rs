//! Candidates of a task, of which the best one is chosen.

use windlass_core::Usage;
use windlass_tasks::{
    BestOf, Claim, Claimed, LeaseStatus, NewTask, Outcome, ProjectId, Proof, StoreError, Task,
    TaskFilter, TaskStatus,
};

use super::lifecycle::proof;
use super::{
    CaseFailure, CaseResult, LEASE, StoreUnderTest, add, any, check, completed, fail_case, failed,
    finish, project, same,
};

fn best_of(project: ProjectId, agents: &[&str], first: bool) -> NewTask {
    NewTask {
        best_of: Some(BestOf {
            agents: agents
                .iter()
                .map(|agent| Some((*agent).to_owned()))
                .collect(),
            first,
            ..BestOf::default()
        }),
        ..NewTask::new(project, "sell tea")
    }
}

async fn candidates(on: &StoreUnderTest, parent: &Task) -> Result<Vec<Task>, CaseFailure> {
    let filter = TaskFilter {
        candidate_of: Some(parent.id),
        ..TaskFilter::default()
    };
    Ok(on.store.tasks(filter).await?)
}

async fn claim(on: &StoreUnderTest, task: &Task) -> Result<Option<Claimed>, CaseFailure> {
    let this = Claim {
        task: Some(task.id),
        ..any("w")
    };
    Ok(on.store.claim(this).await?)
}

async fn started(on: &StoreUnderTest, task: &Task) -> Result<Claimed, CaseFailure> {
    match claim(on, task).await? {
        Some(claimed) => Ok(claimed),
        None => fail_case(format!("task {} cannot be claimed", task.id)),
    }
}

fn tokens(count: u64) -> Usage {
    Usage {
        input_tokens: count,
        ..Usage::default()
    }
}

fn chosen(winner: &Task) -> Outcome {
    Outcome::Chosen {
        winner: winner.id,
        output: "it is the smallest change".to_owned(),
    }
}

fn on_branch(branch: &str) -> Outcome {
    Outcome::Completed {
        proof: None,
        branch: Some(branch.to_owned()),
        output: "done".to_owned(),
    }
}

pub(super) async fn task_waits_for_its_candidates_and_takes_the_best(
    on: StoreUnderTest,
) -> CaseResult {
    let project = project(&on.store).await?.id;
    let alone = add(&on.store, best_of(project, &["a"], false)).await;
    check!(alone.is_err(), "one candidate is not a choice");
    let parent = add(&on.store, best_of(project, &["a", "b", "c"], false)).await?;
    let [a, b, c] = &candidates(&on, &parent).await?[..] else {
        return fail_case("expected three candidates");
    };
    same!(a.candidate_of, Some(parent.id));
    same!(
        [&a.agent, &b.agent, &c.agent].map(|agent| agent.as_deref()),
        [Some("a"), Some("b"), Some("c")]
    );
    same!(
        claim(&on, &parent).await?,
        None,
        "its candidates have not ended"
    );
    let (on_a, on_b, on_c) = (
        started(&on, a).await?,
        started(&on, b).await?,
        started(&on, c).await?,
    );
    on.store
        .record_change(on_b.attempt, "abc123".to_owned())
        .await?;
    on.store
        .finish(on_a.attempt, failed(false), tokens(1))
        .await?;
    on.store
        .finish(on_b.attempt, on_branch("b-branch"), tokens(10))
        .await?;
    same!(claim(&on, &parent).await?, None, "one candidate runs");
    let question = Outcome::Blocked {
        question: "which tea?".to_owned(),
    };
    on.store.finish(on_c.attempt, question, tokens(100)).await?;
    let choice = started(&on, &parent).await?;
    let wrong = on.store.finish(choice.attempt, chosen(a), Usage::default());
    let wrong = wrong.await;
    check!(
        matches!(wrong, Err(StoreError::Refused(_))),
        "it failed: {wrong:?}"
    );
    let done = on
        .store
        .finish(choice.attempt, chosen(b), tokens(1000))
        .await?;
    same!(done.status, TaskStatus::Completed);
    same!(done.branch.as_deref(), Some("b-branch"));
    same!(done.agent.as_deref(), Some("b"));
    same!(done.best_of, None, "the choice is made");
    same!(done.usage.input_tokens, 1111, "the sum of all");
    let attempts = on.store.attempts(parent.id).await?;
    same!(attempts[0].commit.as_deref(), Some("abc123"));
    // The reply was lost.
    let again = on.other.finish(choice.attempt, chosen(b), tokens(1000));
    same!(again.await?.usage.input_tokens, 1111);
    losers_are_cancelled(&on, &parent).await
}

async fn losers_are_cancelled(on: &StoreUnderTest, parent: &Task) -> CaseResult {
    let after = candidates(on, parent).await?;
    let statuses: Vec<_> = after.iter().map(|task| task.status).collect();
    same!(
        statuses,
        vec![
            TaskStatus::Failed,
            TaskStatus::Completed,
            TaskStatus::Cancelled
        ]
    );
    Ok(())
}

pub(super) async fn first_clean_candidate_ends_the_others(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?.id;
    let parent = add(&on.store, best_of(project, &["a", "b"], true)).await?;
    let [a, b] = &candidates(&on, &parent).await?[..] else {
        return fail_case("expected two candidates");
    };
    let (on_a, on_b) = (started(&on, a).await?, started(&on, b).await?);
    finish(&on.store, &on_a, completed()).await?;
    same!(
        claim(&on, &parent).await?,
        None,
        "without a proof it is not clean"
    );
    let proved = Outcome::Completed {
        proof: Some(Box::new(Proof {
            warnings: Vec::new(),
            ..proof()
        })),
        branch: Some("b-branch".to_owned()),
        output: "done".to_owned(),
    };
    let retried = on.store.retry(a.id, false).await?;
    let on_a = started(&on, &retried).await?;
    finish(&on.store, &on_b, proved).await?;
    let choice = started(&on, &parent).await?;
    let done = on
        .store
        .finish(choice.attempt, chosen(b), tokens(1))
        .await?;
    same!(done.unverified, false);
    check!(
        on.store.proof(parent.id).await?.is_some(),
        "it has the proof"
    );
    let beat = on.store.heartbeat(on_a.attempt, LEASE).await?;
    same!(beat, LeaseStatus::CancelRequested);
    on.store
        .finish(on_a.attempt, Outcome::Cancelled, tokens(5))
        .await?;
    same!(on.store.task(parent.id).await?.usage.input_tokens, 6);
    Ok(())
}

pub(super) async fn candidates_end_and_restart_with_their_task(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?.id;
    let parent = add(&on.store, best_of(project, &["a", "b"], false)).await?;
    for candidate in candidates(&on, &parent).await? {
        let one = started(&on, &candidate).await?;
        finish(&on.store, &one, failed(false)).await?;
    }
    let choice = started(&on, &parent).await?;
    same!(
        finish(&on.store, &choice, failed(false)).await?.status,
        TaskStatus::Failed
    );
    same!(
        on.store.retry(parent.id, false).await?.status,
        TaskStatus::Pending
    );
    let again = candidates(&on, &parent).await?;
    check!(
        again.iter().all(|task| task.status == TaskStatus::Pending),
        "its candidates run again: {again:?}"
    );
    same!(claim(&on, &parent).await?, None, "they have not ended");
    on.store.cancel(parent.id).await?;
    let ended = candidates(&on, &parent).await?;
    check!(
        ended
            .iter()
            .all(|task| task.status == TaskStatus::Cancelled),
        "they end with it: {ended:?}"
    );
    Ok(())
}
