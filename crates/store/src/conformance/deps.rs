//! Tasks that wait for each other.

use windlass_core::task::{
    Claim, Claimed, Dependency, NewTask, StoreError, Task, TaskId, TaskStatus,
};

use super::{
    CaseFailure, CaseResult, StoreUnderTest, add, any, check, claimed, completed, fail_case,
    failed, finish, project, same,
};

fn waits_for(project: i64, title: &str, on: &[TaskId]) -> NewTask {
    NewTask {
        dependencies: on.iter().map(|id| Dependency::Task(*id)).collect(),
        ..NewTask::new(project, title)
    }
}

/// Four tasks: one, two that wait for it, one that waits for both.
async fn diamond(on: &StoreUnderTest) -> Result<Vec<Task>, CaseFailure> {
    let project = project(&on.store).await?.id;
    let sibling = |title: &str, siblings: &[usize]| NewTask {
        dependencies: siblings.iter().map(|at| Dependency::Sibling(*at)).collect(),
        ..NewTask::new(project, title)
    };
    // The last one is named first: a sibling may come later.
    let batch = vec![
        sibling("bottom", &[2, 3]),
        sibling("top", &[]),
        sibling("left", &[1]),
        sibling("right", &[1, 1]),
    ];
    let added = on.store.enqueue(batch).await?;
    Ok(added.into_iter().map(|added| added.task).collect())
}

async fn claim_this(on: &StoreUnderTest, task: TaskId) -> Result<Option<Claimed>, CaseFailure> {
    let this = Claim {
        task: Some(task),
        ..any("w")
    };
    Ok(on.store.claim(this).await?)
}

pub(super) async fn a_task_waits_for_what_it_needs(on: StoreUnderTest) -> CaseResult {
    let tasks = diamond(&on).await?;
    let [bottom, top, left, right] = &tasks[..] else {
        return fail_case("four went in");
    };
    same!(bottom.dependencies, vec![left.id, right.id]);
    same!(right.dependencies, vec![top.id]);
    same!(
        claim_this(&on, bottom.id).await?,
        None,
        "it has unmet dependencies"
    );
    let one = claimed(&on.store).await?;
    same!(one.task.id, top.id);
    same!(on.store.claim(any("w")).await?, None, "all others wait");
    finish(&on.store, &one, completed()).await?;
    let (a, b) = (claimed(&on.store).await?, claimed(&on.store).await?);
    same!(
        (a.task.id, b.task.id),
        (left.id, right.id),
        "two can run at the same time"
    );
    finish(&on.store, &a, completed()).await?;
    same!(on.store.claim(any("w")).await?, None);
    finish(&on.store, &b, completed()).await?;
    same!(claimed(&on.store).await?.task.id, bottom.id);
    Ok(())
}

pub(super) async fn a_circle_is_refused(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?.id;
    let first = add(&on.store, waits_for(project, "first", &[])).await?.id;
    let second = add(&on.store, waits_for(project, "second", &[first]))
        .await?
        .id;
    let third = add(&on.store, waits_for(project, "third", &[second]))
        .await?
        .id;
    for (task, waits) in [(first, third), (first, second), (first, first)] {
        let answer = on.store.add_dependency(task, waits).await;
        check!(
            matches!(answer, Err(StoreError::Refused(_))),
            "{task} on {waits}: {answer:?}"
        );
    }
    on.store.add_dependency(third, first).await?;
    on.store.add_dependency(third, first).await?;
    same!(
        on.store.task(third).await?.dependencies,
        vec![first, second]
    );
    let circle = |at| NewTask {
        dependencies: vec![Dependency::Sibling(at)],
        ..NewTask::new(project, "round")
    };
    let answer = on.store.enqueue(vec![circle(1), circle(0)]).await;
    check!(matches!(answer, Err(StoreError::Refused(_))), "{answer:?}");
    let one = claimed(&on.store).await?;
    let answer = on.store.add_dependency(one.task.id, third).await;
    check!(
        matches!(answer, Err(StoreError::Refused(_))),
        "it has begun: {answer:?}"
    );
    Ok(())
}

pub(super) async fn a_failed_task_blocks_its_dependants_until_it_is_put_back(
    on: StoreUnderTest,
) -> CaseResult {
    let tasks = diamond(&on).await?;
    let [bottom, top, left, right] = &tasks[..] else {
        return fail_case("four went in");
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
    let answer = on.store.retry(left.id).await;
    check!(matches!(answer, Err(StoreError::Refused(_))), "{answer:?}");
    // Who comes late is blocked at once.
    let late = add(&on.store, waits_for(top.project_id, "late", &[top.id])).await?;
    same!(late.status, TaskStatus::Blocked);

    on.store.retry(top.id).await?;
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

    // One of two is cancelled: the one that waits for both is blocked, whatever becomes of the other.
    on.store.cancel(left.id).await?;
    same!(status(bottom).await?.status, TaskStatus::Blocked);
    let other = claimed(&on.store).await?;
    same!(other.task.id, right.id);
    finish(&on.store, &other, completed()).await?;
    same!(status(bottom).await?.status, TaskStatus::Blocked);
    on.store.retry(left.id).await?;
    same!(status(bottom).await?.status, TaskStatus::Pending);
    let left_again = claim_this(&on, left.id).await?;
    match left_again {
        Some(one) => finish(&on.store, &one, completed()).await?,
        None => return fail_case("it was not put back"),
    };
    check!(
        claim_this(&on, bottom.id).await?.is_some(),
        "all it needs is there"
    );
    Ok(())
}

pub(super) async fn two_that_end_at_once_set_their_dependant_free(
    on: StoreUnderTest,
) -> CaseResult {
    let project = project(&on.store).await?.id;
    for round in 0..20 {
        let first = add(&on.store, waits_for(project, "first", &[])).await?.id;
        let second = add(&on.store, waits_for(project, "second", &[])).await?.id;
        let both = add(&on.store, waits_for(project, "both", &[first, second]))
            .await?
            .id;
        let (one, two) = (claimed(&on.store).await?, claimed(&on.store).await?);
        // Through two doors, so that not even the same lane orders them.
        let ends = futures::future::join(
            finish(&on.store, &one, completed()),
            finish(&on.other, &two, completed()),
        );
        let (one, two) = ends.await;
        one?;
        two?;
        match claim_this(&on, both).await? {
            Some(last) => finish(&on.store, &last, completed()).await?,
            None => return fail_case(format!("round {round}: it still waits")),
        };
    }
    Ok(())
}
