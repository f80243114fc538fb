//! The kept changes of attempts, and the id of the store.

use windlass_core::Usage;
use windlass_tasks::{AttemptRef, EarlierChange, Outcome, Release, StoreError, TaskId, TaskStore};

use super::{
    CaseFailure, CaseResult, LEASE, StoreUnderTest, added, check, claimed, completed, failed,
    finish, same,
};

pub(super) async fn store_id_is_stable_and_the_same_for_all(on: StoreUnderTest) -> CaseResult {
    let id = on.store.store_id().await?;
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    check!(id.len() == 8 && id.chars().all(is_hex), "{id:?}");
    added(&on.store).await?;
    same!(on.store.store_id().await?, id);
    same!(on.other.store_id().await?, id);
    same!(on.elsewhere.store_id().await?, id);
    Ok(())
}

/// Returns the recorded commits of all attempts.
async fn commits(store: &dyn TaskStore, task: TaskId) -> Result<Vec<Option<String>>, CaseFailure> {
    let attempts = store.attempts(task).await?;
    Ok(attempts.into_iter().map(|one| one.commit).collect())
}

fn change(attempt: u32, commit: &str) -> Option<EarlierChange> {
    let commit = commit.to_owned();
    Some(EarlierChange { attempt, commit })
}

pub(super) async fn change_is_recorded_for_every_outcome(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?.id;
    same!(on.store.earlier_change(task).await?, None);
    let outcomes = [
        failed(true),
        Outcome::Blocked {
            question: "How?".to_owned(),
        },
        Outcome::Cancelled,
        completed(),
    ];
    for (index, outcome) in outcomes.into_iter().enumerate() {
        let one = claimed(&on.store).await?;
        let commit = format!("c{index}");
        on.store
            .record_change(one.attempt, "first".to_owned())
            .await?;
        on.store.record_change(one.attempt, commit.clone()).await?;
        finish(&on.store, &one, outcome).await?;
        let number = one.attempt.number;
        same!(
            on.other.earlier_change(task).await?,
            change(number, &commit)
        );
        on.store.retry(task, false).await.ok();
    }
    let one = claimed(&on.store).await?;
    on.store.record_change(one.attempt, "c4".to_owned()).await?;
    let release = Release {
        reason: "the worker stops".to_owned(),
        usage: Usage::default(),
    };
    on.store.release(one.attempt, release).await?;
    // An attempt without a change does not hide the last one.
    let last = claimed(&on.store).await?;
    finish(&on.store, &last, failed(true)).await?;
    same!(on.store.earlier_change(task).await?, change(5, "c4"));
    let wanted = ["c0", "c1", "c2", "c3", "c4"].map(|commit| Some(commit.to_owned()));
    let found = commits(&*on.other, task).await?;
    same!(found[..5], wanted);
    same!(found[5], None);
    Ok(())
}

pub(super) async fn p3_change_of_an_ended_attempt_is_recorded_once(
    on: StoreUnderTest,
) -> CaseResult {
    let task = added(&on.store).await?.id;
    let lost = claimed(&on.store).await?.attempt;
    on.pass(LEASE * 2);
    on.other.reclaim_expired().await?;
    let running = claimed(&on.other).await?;
    let before = on.store.task(task).await?;
    on.other.record_change(lost, "found".to_owned()).await?;
    // The reply may have been lost.
    on.other.record_change(lost, "found".to_owned()).await?;
    let other = on.store.record_change(lost, "other".to_owned()).await;
    check!(
        other.as_ref().is_err_and(StoreError::is_superseded),
        "{other:?}"
    );
    same!(on.store.task(task).await?, before);
    same!(
        commits(&*on.store, task).await?,
        vec![Some("found".to_owned()), None]
    );
    same!(on.store.earlier_change(task).await?, change(1, "found"));
    finish(&on.other, &running, completed()).await?;
    // There is no such attempt or task.
    for (task, number) in [(task, 3), (TaskId::from(task.get() + 1), 1)] {
        let missing = AttemptRef { task, number };
        let result = on.store.record_change(missing, "x".to_owned()).await;
        check!(result.is_err(), "{missing:?}");
    }
    Ok(())
}

pub(super) async fn fresh_retry_starts_without_earlier_changes(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?.id;
    let one = claimed(&on.store).await?;
    on.store.record_change(one.attempt, "c1".to_owned()).await?;
    finish(&on.store, &one, failed(false)).await?;
    let retried = on.store.retry(task, true).await?;
    check!(retried.fresh, "{retried:?}");
    same!(on.store.earlier_change(task).await?, None);
    // The attempt is lost: the next one starts without the change too.
    claimed(&on.store).await?;
    on.pass(LEASE * 2);
    on.store.reclaim_expired().await?;
    same!(on.other.earlier_change(task).await?, None);
    let three = claimed(&on.store).await?;
    check!(!three.task.fresh, "{three:?}");
    on.store
        .record_change(three.attempt, "c3".to_owned())
        .await?;
    finish(&on.store, &three, failed(false)).await?;
    let retried = on.store.retry(task, false).await?;
    check!(!retried.fresh, "{retried:?}");
    same!(on.store.earlier_change(task).await?, change(3, "c3"));
    // The records remain.
    let found = commits(&*on.store, task).await?;
    same!(
        found,
        vec![Some("c1".to_owned()), None, Some("c3".to_owned())]
    );
    Ok(())
}
