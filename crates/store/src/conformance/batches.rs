//! Writes that wait together: a store may do them together, but each caller gets the result of its own.

use std::collections::BTreeSet;

use futures::future::join_all;
use windlass_core::Usage;
use windlass_tasks::{
    Broadcast, Claimed, EventFilter, NewTask, Outcome, StoreError, TaskId, TaskStatus, WorkerKind,
};

use super::{CaseFailure, CaseResult, StoreUnderTest, add, any, check, project, same};

const WRITES: usize = 40;

fn new_task(on: windlass_tasks::ProjectId, at: usize) -> NewTask {
    NewTask {
        kind: WorkerKind::ALL[at % WorkerKind::ALL.len()],
        idempotency_key: at.is_multiple_of(2).then(|| format!("key {at}")),
        ..NewTask::new(on, format!("task {at}"))
    }
}

pub(super) async fn waiting_writes_each_get_their_own_result(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?.id;
    // From the second task on the store knows the project.
    add(&on.store, new_task(project, 0)).await?;
    let adds = (1..WRITES).map(|at| on.store.enqueue(vec![new_task(project, at)]));
    let mut ids = BTreeSet::new();
    for (at, added) in join_all(adds).await.into_iter().enumerate() {
        let added = added?;
        same!(added.len(), 1);
        let task = &added[0].task;
        same!(task.title, format!("task {}", at + 1));
        check!(added[0].fresh, "{} existed", task.title);
        same!(&on.other.task(task.id).await?, task);
        ids.insert(task.id);
    }
    same!(ids.len(), WRITES - 1, "two tasks have the same id");

    // One claim more than there are tasks.
    let claims = (0..=WRITES).map(|_| on.store.claim(any("a worker")));
    let mut claimed: Vec<Claimed> = Vec::new();
    for one in join_all(claims).await {
        claimed.extend(one?);
    }
    same!(claimed.len(), WRITES);
    for Claimed { task, .. } in &claimed {
        same!(task.status, TaskStatus::InProgress);
        same!(&on.other.task(task.id).await?, task);
        ids.insert(task.id);
    }
    same!(ids.len(), WRITES, "a task was claimed twice");

    let ends = claimed.iter().map(|one| {
        let outcome = Outcome::Completed {
            proof: None,
            branch: Some(format!("branch of {}", one.task.title)),
            output: format!("output of {}", one.task.title),
        };
        on.store.finish(one.attempt, outcome, Usage::default())
    });
    for (one, ended) in claimed.iter().zip(join_all(ends).await) {
        let ended = ended?;
        let title = &one.task.title;
        same!(ended.id, one.task.id);
        same!(ended.status, TaskStatus::Completed);
        same!(ended.output, Some(format!("output of {title}")));
        same!(ended.branch, Some(format!("branch of {title}")));
        same!(on.other.task(ended.id).await?, ended);
        check_events(&on, ended.id, ended.kind).await?;
    }
    Ok(())
}

/// Checks that a task was broadcast as added, claimed and completed, in this order.
async fn check_events(on: &StoreUnderTest, task: TaskId, kind: WorkerKind) -> CaseResult {
    let filter = EventFilter {
        task_id: Some(task),
        ..EventFilter::default()
    };
    let events = on.other.events(filter).await?;
    let statuses = events.into_iter().map(|event| match event.message {
        Broadcast::TaskStatus {
            status, agent_id, ..
        } => Ok((status, agent_id)),
        other => Err(CaseFailure::from(StoreError::Refused(format!("{other:?}")))),
    });
    let statuses: Vec<(TaskStatus, String)> = statuses.collect::<Result<_, _>>()?;
    let agent = kind.agent_id().to_owned();
    let expected = [
        (TaskStatus::Pending, "worker".to_owned()),
        (TaskStatus::InProgress, agent.clone()),
        (TaskStatus::Completed, agent),
    ];
    same!(statuses, expected);
    Ok(())
}

pub(super) async fn refused_write_does_not_disturb_those_that_wait_with_it(
    on: StoreUnderTest,
) -> CaseResult {
    let project = project(&on.store).await?.id;
    let first = add(&on.store, new_task(project, 0)).await?;
    let new = |at: usize| match at % 4 {
        // The same request again, another request with the same key, and text that PostgreSQL cannot store.
        1 => new_task(project, 0),
        2 => NewTask {
            title: "another".to_owned(),
            ..new_task(project, 0)
        },
        3 => NewTask::new(project, format!("task \0 {at}")),
        _ => NewTask::new(project, format!("task {at}")),
    };
    let adds = (0..WRITES).map(|at| on.store.enqueue(vec![new(at)]));
    for (at, added) in join_all(adds).await.into_iter().enumerate() {
        match at % 4 {
            1 => {
                let added = added?;
                same!((added[0].task.id, added[0].fresh), (first.id, false));
            }
            2 => check!(
                matches!(added, Err(StoreError::IdempotencyConflict { task, .. }) if task == first.id),
                "{added:?}"
            ),
            3 => same!(added?[0].task.title, format!("task \u{FFFD} {at}")),
            _ => same!(added?[0].task.title, format!("task {at}")),
        }
    }

    // Of two ends of the same attempt with different outcomes, one wins.
    let Some(one) = on.store.claim(any("a worker")).await? else {
        return super::fail_case("there was nothing to claim");
    };
    let (won, lost) = futures::future::join(
        super::finish(&on.store, &one, super::completed()),
        super::finish(&on.store, &one, super::failed(false)),
    )
    .await;
    check!(won.is_ok() != lost.is_ok(), "{won:?} and {lost:?}");
    Ok(())
}
