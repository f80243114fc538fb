//! Landing queues: one worker for each branch, nothing twice, no write without a lease.

use std::sync::Arc;
use std::time::Duration;

use windlass_tasks::{
    ClaimedLandings, Dependency, LandingClaim, LandingFilter, LandingOutcome, LandingState,
    NewLanding, NewTask, Outcome, Proof, StoreError, Task, TaskId, TaskStatus, TaskStore,
};

use super::{
    CaseFailure, CaseResult, LEASE, StoreUnderTest, add, check, claimed, completed, fail_case,
    finish, project, same,
};

fn request(worker: &str, max: u32) -> LandingClaim {
    LandingClaim {
        worker: worker.to_owned(),
        project_id: None,
        tasks: Vec::new(),
        max,
        lease: LEASE,
    }
}

fn on(task: TaskId, target: &str) -> NewLanding {
    NewLanding {
        task,
        target: target.to_owned(),
        by: "ada".to_owned(),
    }
}

fn landed(commit: &str) -> LandingOutcome {
    LandingOutcome::Landed {
        commit: commit.to_owned(),
    }
}

fn returned() -> LandingOutcome {
    LandingOutcome::Returned {
        reason: "one test fails".to_owned(),
        cases: vec!["tests::adds".to_owned()],
        max_returns: 1,
    }
}

async fn take(
    store: &Arc<dyn TaskStore>,
    worker: &str,
    max: u32,
) -> Result<ClaimedLandings, CaseFailure> {
    match store.claim_landings(request(worker, max)).await? {
        Some(claimed) => Ok(claimed),
        None => fail_case("there was nothing to land"),
    }
}

/// Adds tasks and completes them. Each depends on the one before if `chained`.
async fn proved(
    store: &Arc<dyn TaskStore>,
    count: usize,
    chained: bool,
) -> Result<Vec<Task>, CaseFailure> {
    let project = project(store).await?;
    let mut tasks: Vec<Task> = Vec::new();
    for _ in 0..count {
        let mut new = NewTask::new(project.id, "sell tea");
        if let (true, Some(last)) = (chained, tasks.last()) {
            new.dependencies = vec![Dependency::Task(last.id)];
        }
        add(store, new).await?;
        let claimed = claimed(store).await?;
        let outcome = Outcome::Completed {
            proof: Some(Box::new(Proof {
                warnings: Vec::new(),
                ..super::lifecycle::proof()
            })),
            branch: Some("windlass/task".to_owned()),
            output: "done".to_owned(),
        };
        tasks.push(finish(store, &claimed, outcome).await?);
    }
    Ok(tasks)
}

pub(super) async fn p30_one_worker_lands_on_a_branch_at_a_time(
    subject: StoreUnderTest,
) -> CaseResult {
    let StoreUnderTest { store, other, .. } = &subject;
    let tasks = proved(store, 4, false).await?;
    for task in &tasks[..3] {
        store.enqueue_landing(on(task.id, "main")).await?;
    }
    store.enqueue_landing(on(tasks[3].id, "release")).await?;
    let claims = (0..8).map(|at| {
        let store = if at % 2 == 0 { store } else { other };
        store.claim_landings(request(&format!("worker {at}"), 1))
    });
    let mut claims: Vec<ClaimedLandings> = futures::future::try_join_all(claims)
        .await?
        .into_iter()
        .flatten()
        .collect();
    claims.sort_by(|one, two| one.entries[0].target.cmp(&two.entries[0].target));
    same!(claims.len(), 2, "one for each branch");
    same!(claims[0].entries[0].task, tasks[0].id);
    same!(claims[1].entries[0].task, tasks[3].id);
    check!(
        claims[0].token != claims[1].token,
        "two claims have the same token"
    );
    store
        .finish_landing(claims[0].token, claims[0].entries[0].id, landed("c1"))
        .await?;
    let next = take(other, "next", 1).await?;
    same!(next.entries[0].task, tasks[1].id);
    other
        .release_landings(next.token, Some("edits".to_owned()))
        .await?;
    let again = take(store, "again", 1).await?;
    same!(
        again.entries[0].task,
        tasks[1].id,
        "a released entry keeps its position"
    );
    Ok(())
}

pub(super) async fn p30_nothing_lands_twice(subject: StoreUnderTest) -> CaseResult {
    let StoreUnderTest { store, other, .. } = &subject;
    let task = &proved(store, 1, false).await?[0];
    let store_set = store.set_land(task.id, true).await?;
    check!(store_set.land, "the task is to land");
    same!(store.due_landings(None).await?.len(), 1);
    let first = store.enqueue_landing(on(task.id, "main")).await?;
    let second = other.enqueue_landing(on(task.id, "main")).await?;
    same!(first.id, second.id, "a task waits once");
    same!(
        store.due_landings(None).await?,
        [],
        "it is in the queue already"
    );
    let claim = take(store, "one", 1).await?;
    let entry = claim.entries[0].id;
    let done = store
        .finish_landing(claim.token, entry, landed("c1"))
        .await?;
    let record = done.landed.clone();
    same!(
        record.map(|landed| (landed.commit, landed.by)),
        Some(("c1".to_owned(), "ada".to_owned()))
    );
    // The reply may be lost.
    let repeated = other
        .finish_landing(claim.token, entry, landed("c1"))
        .await?;
    same!(repeated, done);
    let changed = store.finish_landing(claim.token, entry, landed("c2")).await;
    same!(changed, Err(StoreError::LandingLost));
    check!(
        store.enqueue_landing(on(task.id, "main")).await.is_err(),
        "a landed task was added again"
    );
    same!(store.due_landings(None).await?, []);
    same!(store.claim_landings(request("two", 9)).await?, None);
    check!(
        store.retry(task.id, false).await.is_err(),
        "a landed task was retried"
    );
    same!(store.forget_landed(task.id).await?.landed, None);
    same!(
        store.retry(task.id, false).await?.status,
        TaskStatus::Pending
    );
    Ok(())
}

pub(super) async fn p30_lost_lease_cannot_finish(subject: StoreUnderTest) -> CaseResult {
    let (store, other) = (&subject.store, &subject.elsewhere);
    let task = &proved(store, 1, false).await?[0];
    store.enqueue_landing(on(task.id, "main")).await?;
    let lost = take(store, "lost", 1).await?;
    let entry = lost.entries[0].id;
    store
        .record_landing_intent(lost.token, vec![entry], "c1".to_owned())
        .await?;
    same!(other.claim_landings(request("early", 1)).await?, None);
    subject.pass(LEASE / 2);
    store.heartbeat_landings(lost.token, LEASE).await?;
    subject.pass(LEASE / 2 + Duration::from_secs(1));
    same!(other.claim_landings(request("early", 1)).await?, None);
    // A machine with another clock must see the lease unchanged for its whole length.
    subject.pass(LEASE);
    let found = match other.claim_landings(request("next", 1)).await? {
        Some(found) => found,
        None => {
            subject.pass(LEASE);
            take(other, "next", 1).await?
        }
    };
    same!(found.entries[0].intents, ["c1".to_owned()]);
    check!(found.token != lost.token, "the token was used again");
    let late = store.finish_landing(lost.token, entry, landed("c1")).await;
    same!(late, Err(StoreError::LandingLost));
    same!(
        store.heartbeat_landings(lost.token, LEASE).await,
        Err(StoreError::LandingLost)
    );
    let intent = store
        .record_landing_intent(lost.token, vec![entry], "c2".to_owned())
        .await;
    same!(intent, Err(StoreError::LandingLost));
    store.release_landings(lost.token, None).await?;
    let done = other
        .finish_landing(found.token, entry, landed("c1"))
        .await?;
    check!(done.landed.is_some(), "the second worker lands it");
    Ok(())
}

pub(super) async fn dependencies_land_first(subject: StoreUnderTest) -> CaseResult {
    let store = &subject.store;
    let tasks = proved(store, 3, true).await?;
    let mut ids: Vec<TaskId> = tasks.iter().map(|task| task.id).collect();
    for id in ids.iter().rev() {
        store.enqueue_landing(on(*id, "main")).await?;
    }
    let waiting = store.landings(LandingFilter::default()).await?;
    same!(waiting[0].waits_for, [ids[1]]);
    let claim = take(store, "one", 9).await?;
    let claimed: Vec<TaskId> = claim.entries.iter().map(|entry| entry.task).collect();
    same!(claimed, [ids[0]], "the others wait");
    store
        .finish_landing(claim.token, claim.entries[0].id, landed("c1"))
        .await?;
    ids.remove(0);
    for id in ids {
        let claim = take(store, "one", 9).await?;
        same!(claim.entries[0].task, id);
        store
            .finish_landing(claim.token, claim.entries[0].id, landed("c2"))
            .await?;
    }
    // In the right order they may land together.
    let batch = proved(store, 3, true).await?;
    for task in &batch {
        store.enqueue_landing(on(task.id, "main")).await?;
    }
    same!(take(store, "one", 2).await?.entries.len(), 2);
    Ok(())
}

pub(super) async fn returned_landing_gives_a_new_attempt(subject: StoreUnderTest) -> CaseResult {
    let store = &subject.store;
    let task = proved(store, 1, false).await?[0].id;
    store.enqueue_landing(on(task, "main")).await?;
    let claim = take(store, "one", 1).await?;
    let entry = claim.entries[0].id;
    let back = store.finish_landing(claim.token, entry, returned()).await?;
    same!(back.status, TaskStatus::Pending);
    check!(back.land, "it lands again when it is proved again");
    let filter = LandingFilter {
        task: Some(task),
        ..LandingFilter::default()
    };
    let listed = store.landings(filter.clone()).await?;
    same!(listed[0].state, LandingState::Returned);
    same!(listed[0].cases, ["tests::adds".to_owned()]);
    same!(listed[0].reason, Some("one test fails".to_owned()));
    // Returned once more than allowed: a person is asked.
    let again = claimed(store).await?;
    finish(store, &again, completed()).await?;
    store.enqueue_landing(on(task, "main")).await?;
    let claim = take(store, "one", 1).await?;
    let asked = store
        .finish_landing(claim.token, claim.entries[0].id, returned())
        .await?;
    same!(asked.status, TaskStatus::Blocked);
    let questions = store.blockers(None, true).await?;
    same!(questions.len(), 1);
    check!(
        questions[0].question.contains("one test fails"),
        "the question lacks the reason"
    );
    let answered = store
        .answer_blocker(questions[0].id, "use milk".to_owned())
        .await?;
    same!(answered.status, TaskStatus::Pending);
    same!(store.landings(filter).await?.len(), 2);
    Ok(())
}

pub(super) async fn waiting_landing_ends_with_its_change(subject: StoreUnderTest) -> CaseResult {
    let store = &subject.store;
    let tasks = proved(store, 3, false).await?;
    for task in &tasks {
        store.enqueue_landing(on(task.id, "main")).await?;
    }
    store.retry(tasks[0].id, false).await?;
    let without = store.set_land(tasks[1].id, false).await?;
    check!(!without.land, "the task does not land");
    let by_hand = store
        .record_landed(on(tasks[2].id, "main"), "c9".to_owned())
        .await?;
    same!(
        by_hand.landed.map(|landed| landed.commit),
        Some("c9".to_owned())
    );
    same!(store.claim_landings(request("one", 9)).await?, None);
    // If the branch of an entry may have moved, the entry stays until a worker has checked.
    let task = &proved(store, 1, false).await?[0];
    store.enqueue_landing(on(task.id, "main")).await?;
    let mut claim = take(store, "one", 9).await?;
    while claim.entries[0].task != task.id {
        store
            .finish_landing(claim.token, claim.entries[0].id, LandingOutcome::Withdrawn)
            .await?;
        claim = take(store, "one", 1).await?;
    }
    let entry = claim.entries[0].id;
    store
        .record_landing_intent(claim.token, vec![entry], "c1".to_owned())
        .await?;
    store.release_landings(claim.token, None).await?;
    store.retry(task.id, false).await?;
    let claim = take(store, "two", 1).await?;
    same!(claim.entries[0].id, entry);
    let after = store
        .finish_landing(claim.token, entry, landed("c1"))
        .await?;
    same!(after.landed, None, "the task has another attempt since");
    Ok(())
}
