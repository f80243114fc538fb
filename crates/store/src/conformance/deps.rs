//! Tasks that depend on each other.

use windlass_tasks::{
    Claim, Claimed, Dependency, NewTask, ProjectId, StoreError, Task, TaskId, TaskStatus,
};

use super::{
    CaseFailure, CaseResult, StoreUnderTest, add, any, check, claimed, completed, fail_case,
    failed, finish, project, same,
};

fn task_after(project: ProjectId, title: &str, on: &[TaskId]) -> NewTask {
    NewTask {
        dependencies: on.iter().map(|id| Dependency::Task(*id)).collect(),
        ..NewTask::new(project, title)
    }
}

/// Adds four tasks: one, two that depend on it, and one that depends on both.
async fn diamond(on: &StoreUnderTest) -> Result<Vec<Task>, CaseFailure> {
    let project = project(&on.store).await?.id;
    let sibling = |title: &str, siblings: &[usize]| NewTask {
        dependencies: siblings.iter().map(|at| Dependency::Sibling(*at)).collect(),
        ..NewTask::new(project, title)
    };
    // The dependent comes first: a dependency may be a later sibling.
    let batch = vec![
        sibling("bottom", &[2, 3]),
        sibling("top", &[]),
        sibling("left", &[1]),
        sibling("right", &[1, 1]),
    ];
    let added = on.store.enqueue(batch).await?;
    Ok(added.into_iter().map(|added| added.task).collect())
}

async fn claim_task(on: &StoreUnderTest, task: TaskId) -> Result<Option<Claimed>, CaseFailure> {
    let this = Claim {
        task: Some(task),
        ..any("w")
    };
    Ok(on.store.claim(this).await?)
}

pub(super) async fn task_waits_for_its_dependencies(on: StoreUnderTest) -> CaseResult {
    let tasks = diamond(&on).await?;
    let [bottom, top, left, right] = &tasks[..] else {
        return fail_case("expected four tasks");
    };
    same!(bottom.dependencies, vec![left.id, right.id]);
    same!(right.dependencies, vec![top.id]);
    same!(
        claim_task(&on, bottom.id).await?,
        None,
        "it has unmet dependencies"
    );
    let one = claimed(&on.store).await?;
    same!(one.task.id, top.id);
    same!(
        on.store.claim(any("w")).await?,
        None,
        "all other tasks wait"
    );
    finish(&on.store, &one, completed()).await?;
    let (a, b) = (claimed(&on.store).await?, claimed(&on.store).await?);
    same!(
        (a.task.id, b.task.id),
        (left.id, right.id),
        "two can run concurrently"
    );
    finish(&on.store, &a, completed()).await?;
    same!(on.store.claim(any("w")).await?, None);
    finish(&on.store, &b, completed()).await?;
    same!(claimed(&on.store).await?.task.id, bottom.id);
    Ok(())
}

pub(super) async fn dependency_cycle_is_rejected(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?.id;
    let first = add(&on.store, task_after(project, "first", &[])).await?.id;
    let second = add(&on.store, task_after(project, "second", &[first]))
        .await?
        .id;
    let third = add(&on.store, task_after(project, "third", &[second]))
        .await?
        .id;
    for (task, dependency) in [(first, third), (first, second), (first, first)] {
        let result = on.store.add_dependency(task, dependency).await;
        check!(
            matches!(result, Err(StoreError::Refused(_))),
            "{task} on {dependency}: {result:?}"
        );
    }
    on.store.add_dependency(third, first).await?;
    on.store.add_dependency(third, first).await?;
    same!(
        on.store.task(third).await?.dependencies,
        vec![first, second]
    );
    let cyclic = |at| NewTask {
        dependencies: vec![Dependency::Sibling(at)],
        ..NewTask::new(project, "cycle")
    };
    let result = on.store.enqueue(vec![cyclic(1), cyclic(0)]).await;
    check!(matches!(result, Err(StoreError::Refused(_))), "{result:?}");
    let one = claimed(&on.store).await?;
    let result = on.store.add_dependency(one.task.id, third).await;
    check!(
        matches!(result, Err(StoreError::Refused(_))),
        "it has started: {result:?}"
    );
    Ok(())
}

pub(super) async fn failed_task_blocks_dependents_until_retried(on: StoreUnderTest) -> CaseResult {
    let tasks = diamond(&on).await?;
    let [bottom, top, left, right] = &tasks[..] else {
        return fail_case("expected four tasks");
    };
    let status = async |task: &Task| on.store.task(task.id).await;
    let one = claimed(&on.store).await?;
    finish(&on.store, &one, failed(false)).await?;
    for task in [bottom, left, right] {
        same!(
            status(task).await?.status,
            TaskStatus::Blocked,
            "{}",
            task.title
        );
    }
    let reason = status(left).await?.output.unwrap_or_default();
    let named = format!("task {} (top)", top.id);
    check!(
        reason.contains(&named) && reason.contains("failed"),
        "{reason}"
    );
    let result = on.store.retry(left.id, false).await;
    check!(matches!(result, Err(StoreError::Refused(_))), "{result:?}");
    // A task that is added now is blocked immediately.
    let late = add(&on.store, task_after(top.project_id, "late", &[top.id])).await?;
    same!(late.status, TaskStatus::Blocked);

    on.store.retry(top.id, false).await?;
    for task in [bottom, left, right, &late] {
        let now = status(task).await?;
        same!(
            (now.status, now.output.as_deref()),
            (TaskStatus::Pending, None),
            "{}",
            task.title
        );
    }
    let again = claimed(&on.store).await?;
    same!(again.task.id, top.id);
    finish(&on.store, &again, completed()).await?;

    // One of the two is cancelled: the task that depends on both is blocked, whatever the outcome of the
    // other.
    on.store.cancel(left.id).await?;
    same!(status(bottom).await?.status, TaskStatus::Blocked);
    let other = claimed(&on.store).await?;
    same!(other.task.id, right.id);
    finish(&on.store, &other, completed()).await?;
    same!(status(bottom).await?.status, TaskStatus::Blocked);
    on.store.retry(left.id, false).await?;
    same!(status(bottom).await?.status, TaskStatus::Pending);
    let left_again = claim_task(&on, left.id).await?;
    match left_again {
        Some(one) => finish(&on.store, &one, completed()).await?,
        None => return fail_case("it was not reset to pending"),
    };
    check!(
        claim_task(&on, bottom.id).await?.is_some(),
        "all its dependencies are completed"
    );
    Ok(())
}

pub(super) async fn concurrent_completions_unblock_dependent(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?.id;
    for round in 0..20 {
        let first = add(&on.store, task_after(project, "first", &[])).await?.id;
        let second = add(&on.store, task_after(project, "second", &[])).await?.id;
        let both = add(&on.store, task_after(project, "both", &[first, second]))
            .await?
            .id;
        let (one, two) = (claimed(&on.store).await?, claimed(&on.store).await?);
        // Two connections, so that the same write queue does not serialize them.
        let ends = futures::future::join(
            finish(&on.store, &one, completed()),
            finish(&on.other, &two, completed()),
        );
        let (one, two) = ends.await;
        one?;
        two?;
        match claim_task(&on, both).await? {
            Some(last) => finish(&on.store, &last, completed()).await?,
            None => return fail_case(format!("round {round}: it still waits")),
        };
    }
    Ok(())
}

pub(super) async fn dependency_on_a_completing_task_is_met(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?.id;
    for round in 0..40 {
        let first = add(&on.store, task_after(project, "first", &[])).await?.id;
        let one = claimed(&on.store).await?;
        same!(one.task.id, first);
        // The new task sees the other one either running or completed.
        let (ended, second) = futures::future::join(
            finish(&on.store, &one, completed()),
            add(&on.other, task_after(project, "second", &[first])),
        )
        .await;
        ended?;
        match claim_task(&on, second?.id).await? {
            Some(last) => finish(&on.store, &last, completed()).await?,
            None => return fail_case(format!("round {round}: it still waits")),
        };
    }
    Ok(())
}
