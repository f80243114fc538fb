//! The promises that a single store can prove.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::Usage;
use windlass_tasks::{
    AttemptRef, Broadcast, Correction, EventFilter, LeaseStatus, NewTask, ProjectId, Release,
    StoreError, StoreResult, TaskFilter, TaskId, TaskStatus, TaskStore, TestCounts, TestResult,
    TestStatus,
};

use super::{
    CaseFailure, CaseResult, LEASE, StoreUnderTest, add, added, any, check, claimed, completed,
    fail_case, failed, finish, project, same,
};

pub(super) async fn p1_accepted_tasks_are_stored(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?.id;
    let mut clients = Vec::new();
    for client in 0..32 {
        let store = Arc::clone(&on.store);
        clients.push(tokio::spawn(async move {
            let mut ids = Vec::new();
            for at in 0..5 {
                let new = NewTask::new(project, format!("{client}/{at}"));
                ids.push(add(&store, new).await?.id);
            }
            Ok::<_, CaseFailure>(ids)
        }));
    }
    let mut accepted = BTreeSet::new();
    for client in clients {
        accepted.extend(client.await??);
    }
    same!(accepted.len(), 160, "each task has its own id");
    let found: BTreeSet<TaskId> = on
        .other
        .tasks(TaskFilter::default())
        .await?
        .iter()
        .map(|task| task.id)
        .collect();
    same!(found, accepted);
    Ok(())
}

/// The heartbeats of a process arrive together.
pub(super) async fn p3_heartbeats_that_arrive_together_have_their_own_results(
    on: StoreUnderTest,
) -> CaseResult {
    let project = project(&on.store).await?.id;
    let mut attempts = Vec::new();
    for name in ["lost", "cancelled", "held", "also held"] {
        add(&on.store, NewTask::new(project, name)).await?;
        attempts.push(claimed(&on.store).await?.attempt);
        if name == "lost" {
            on.pass(LEASE * 2);
            on.other.reclaim_expired().await?;
            attempts.push(claimed(&on.store).await?.attempt);
        }
    }
    let [lost, again, cancelled, held, also] = attempts[..] else {
        return fail_case("there are not five attempts");
    };
    on.other.cancel(cancelled.task).await?;
    let unknown = AttemptRef {
        task: TaskId::from(1_000_000),
        number: 1,
    };
    on.pass(LEASE / 2);
    let renew = |attempt| on.store.heartbeat(attempt, LEASE);
    let (lost, again, cancelled, held, same, also, unknown) = futures::join!(
        renew(lost),
        renew(again),
        renew(cancelled),
        renew(held),
        renew(held),
        renew(also),
        renew(unknown)
    );
    assert_superseded(lost)?;
    check!(
        matches!(unknown, Err(StoreError::NotFound { .. })),
        "{unknown:?}"
    );
    same!(cancelled?, LeaseStatus::CancelRequested);
    for renewed in [again, held, same, also] {
        same!(renewed?, LeaseStatus::Held);
    }
    on.pass(LEASE * 2 / 3);
    same!(
        on.other.reclaim_expired().await?,
        vec![],
        "all were renewed"
    );
    Ok(())
}

pub(super) async fn p2_task_without_heartbeats_is_reclaimed(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    let first = claimed(&on.store).await?;
    same!(
        on.other.reclaim_expired().await?,
        vec![],
        "the lease is valid"
    );
    on.pass(LEASE / 2);
    on.store.heartbeat(first.attempt, LEASE).await?;
    on.pass(LEASE * 2 / 3);
    same!(on.other.reclaim_expired().await?, vec![], "it was renewed");
    on.pass(LEASE);
    // Expired, but not reclaimed yet.
    same!(
        on.store.heartbeat(first.attempt, LEASE).await?,
        LeaseStatus::Held
    );
    on.pass(LEASE * 2);
    let reclaimed = on.other.reclaim_expired().await?;
    same!(
        reclaimed
            .iter()
            .map(|task| (task.id, task.status))
            .collect::<Vec<_>>(),
        [(task.id, TaskStatus::Pending)]
    );
    let reason = reclaimed[0].output.clone().unwrap_or_default();
    check!(reason.contains("lease expired"), "{reason}");
    same!(on.other.reclaim_expired().await?, vec![]);
    let second = claimed(&on.other).await?;
    same!((second.task.id, second.attempt.number), (task.id, 2));

    // When the last attempt is lost, the task has failed.
    on.pass(LEASE * 2);
    on.store.reclaim_expired().await?;
    claimed(&on.store).await?;
    on.pass(LEASE * 2);
    same!(
        on.store.reclaim_expired().await?[0].status,
        TaskStatus::Failed
    );
    Ok(())
}

#[track_caller]
pub(super) fn assert_superseded<T: std::fmt::Debug>(result: StoreResult<T>) -> CaseResult {
    match result {
        Err(StoreError::Superseded { .. }) => Ok(()),
        other => fail_case(format!("a stale write returned {other:?}")),
    }
}

fn passed_tests() -> TestResult {
    TestResult {
        command: vec!["true".to_owned()],
        status: TestStatus::Passed,
        exit_code: Some(0),
        counts: TestCounts::default(),
        failures: Vec::new(),
        cases: None,
        notes: Vec::new(),
        duration_ms: 1,
        output: String::new(),
        output_sha256: String::new(),
    }
}

fn correction() -> Correction {
    Correction {
        round: 1,
        error_analysis: "it was wrong".to_owned(),
        fix_description: "now it is right".to_owned(),
        code_changes: serde_json::json!([{"path": "a", "action": "modify"}]),
        status: TestStatus::Passed,
    }
}

/// Tries every write of an attempt.
async fn stale_writes_fail(
    store: &Arc<dyn TaskStore>,
    attempt: windlass_tasks::AttemptRef,
) -> CaseResult {
    assert_superseded(store.heartbeat(attempt, LEASE).await)?;
    assert_superseded(store.record_intent(attempt, "c".repeat(40)).await)?;
    assert_superseded(store.record_test(attempt, passed_tests()).await)?;
    assert_superseded(store.record_correction(attempt, correction()).await)?;
    let message = Broadcast::ActivityUpdate {
        project_id: ProjectId::from(1),
        activity_type: "late".to_owned(),
        agent_id: "worker".to_owned(),
        message: "late".to_owned(),
        task_id: None,
    };
    assert_superseded(store.append_events(Some(attempt), vec![message]).await)?;
    assert_superseded(store.finish(attempt, completed(), Usage::default()).await)?;
    assert_superseded(store.finish(attempt, failed(true), Usage::default()).await)?;
    let release = Release {
        reason: "late".to_owned(),
        usage: Usage::default(),
    };
    assert_superseded(store.release(attempt, release).await)
}

pub(super) async fn p3_superseded_attempt_changes_nothing(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?.id;
    let stale = claimed(&on.store).await?.attempt;
    on.store.record_test(stale, passed_tests()).await?;
    on.store.record_correction(stale, correction()).await?;
    on.pass(LEASE * 2);
    on.other.reclaim_expired().await?;
    // First reclaimed, then claimed by another worker, then finished by that worker.
    let mut second = None;
    for stage in 0..3 {
        if stage == 1 {
            second = Some(claimed(&on.other).await?);
        }
        if stage == 2
            && let Some(second) = &second
        {
            finish(&on.other, second, completed()).await?;
        }
        let before = (
            on.store.task(task).await?,
            on.store.test_results(task).await?,
            on.store.corrections(task).await?,
            on.store.events(EventFilter::default()).await?,
            on.store.pending_intent(task).await?,
        );
        stale_writes_fail(&on.store, stale).await?;
        let after = (
            on.store.task(task).await?,
            on.store.test_results(task).await?,
            on.store.corrections(task).await?,
            on.store.events(EventFilter::default()).await?,
            on.store.pending_intent(task).await?,
        );
        check!(
            before == after,
            "stage {stage}: {before:?} became {after:?}"
        );
    }
    same!(
        on.store.test_results(task).await?,
        vec![(1, passed_tests())]
    );
    same!(on.store.corrections(task).await?, vec![(1, correction())]);
    Ok(())
}

pub(super) async fn p3_repeated_finish_is_idempotent(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    let one = claimed(&on.store).await?;
    let used = Usage {
        input_tokens: 5,
        ..Usage::default()
    };
    let first = on
        .store
        .finish(one.attempt, completed(), used.clone())
        .await?;
    let again = on.store.finish(one.attempt, completed(), used).await?;
    same!(again, first, "the reply may have been lost");
    assert_superseded(
        on.store
            .finish(one.attempt, failed(true), Usage::default())
            .await,
    )?;
    // Its last events may be written after its end.
    let status = Broadcast::ActivityUpdate {
        project_id: task.project_id,
        activity_type: "done".to_owned(),
        agent_id: "worker".to_owned(),
        message: "done".to_owned(),
        task_id: Some(task.id),
    };
    on.store
        .append_events(Some(one.attempt), vec![status])
        .await?;
    assert_superseded(on.store.record_test(one.attempt, passed_tests()).await)
}

pub(super) async fn p4_publish_intent_is_stored(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?.id;
    same!(on.store.pending_intent(task).await?, None);
    let first = claimed(&on.store).await?;
    on.store
        .record_intent(first.attempt, "aaaa".to_owned())
        .await?;
    on.pass(LEASE * 2);
    on.store.reclaim_expired().await?;
    same!(
        on.other.pending_intent(task).await?.as_deref(),
        Some("aaaa")
    );
    // An attempt that reported a failure did not publish. The intent of the earlier lost attempt is still
    // known.
    let second = claimed(&on.store).await?;
    on.store
        .record_intent(second.attempt, "bbbb".to_owned())
        .await?;
    finish(&on.store, &second, failed(true)).await?;
    same!(
        on.store.pending_intent(task).await?.as_deref(),
        Some("aaaa")
    );
    // After the task was completed, a retry starts without an intent.
    let third = claimed(&on.store).await?;
    finish(&on.store, &third, completed()).await?;
    on.store.retry(task, false).await?;
    same!(on.store.pending_intent(task).await?, None);
    Ok(())
}

pub(super) async fn p6_same_key_from_a_hundred_clients_gives_one_task(
    on: StoreUnderTest,
) -> CaseResult {
    let project = project(&on.store).await?.id;
    let keyed = |title: &str| NewTask {
        idempotency_key: Some("the key".to_owned()),
        ..NewTask::new(project, title)
    };
    let mut clients = Vec::new();
    for client in 0..100 {
        let connection = if client % 2 == 0 {
            &on.store
        } else {
            &on.other
        };
        let store = Arc::clone(connection);
        let new = keyed("sell tea");
        clients.push(tokio::spawn(async move { store.enqueue(vec![new]).await }));
    }
    let (mut ids, mut fresh) = (BTreeSet::new(), 0);
    for client in clients {
        for added in client.await?? {
            ids.insert(added.task.id);
            fresh += usize::from(added.fresh);
        }
    }
    same!((ids.len(), fresh), (1, 1));
    same!(on.store.tasks(TaskFilter::default()).await?.len(), 1);
    let Some(task) = ids.pop_first() else {
        return fail_case("no task was added".to_owned());
    };

    let other = on
        .store
        .enqueue(vec![NewTask::new(project, "x"), keyed("sell coffee")])
        .await;
    match other {
        Err(StoreError::IdempotencyConflict {
            key,
            task: existing,
        }) => {
            same!((key.as_str(), existing), ("the key", task));
        }
        other => return fail_case(format!("another body returned {other:?}")),
    }
    same!(
        on.store.tasks(TaskFilter::default()).await?.len(),
        1,
        "all or none"
    );
    let one = claimed(&on.store).await?;
    finish(&on.store, &one, completed()).await?;
    let again = on.store.enqueue(vec![keyed("sell tea")]).await?;
    same!(
        again
            .iter()
            .map(|added| (added.task.id, added.fresh))
            .collect::<Vec<_>>(),
        [(task, false)]
    );
    same!(
        on.store.claim(any("w")).await?,
        None,
        "it is not done again"
    );
    Ok(())
}
