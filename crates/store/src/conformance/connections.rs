//! Two connections to the same data, as two processes would have.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_tasks::{NewTask, TaskFilter, TaskStatus};

use super::{
    CaseFailure, CaseResult, StoreUnderTest, add, any, check, claimed, completed, finish, project,
    same,
};

pub(super) async fn p9_two_connections_see_the_same_data(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?;
    same!(
        super::project(&on.other).await?,
        project,
        "the same directory is the same project"
    );
    let task = add(&on.other, NewTask::new(project.id, "a task")).await?;
    let claimed_task = claimed(&on.store).await?;
    same!(claimed_task.task.id, task.id);
    same!(on.other.task(task.id).await?.status, TaskStatus::InProgress);
    same!(on.other.claim(any("w")).await?, None);
    let done = finish(&on.other, &claimed_task, completed()).await?;
    same!(on.store.task(task.id).await?, done);
    Ok(())
}

pub(super) async fn each_task_is_claimed_once(on: StoreUnderTest) -> CaseResult {
    const TASKS: usize = 120;
    let project = project(&on.store).await?.id;
    on.store
        .enqueue(vec![NewTask::new(project, "a task"); TASKS])
        .await?;
    let mut workers = Vec::new();
    for worker in 0..8 {
        let connection = if worker % 2 == 0 {
            &on.store
        } else {
            &on.other
        };
        let store = Arc::clone(connection);
        workers.push(tokio::spawn(async move {
            let mut ids = Vec::new();
            while let Some(claimed_task) = store.claim(any(&format!("worker {worker}"))).await? {
                ids.push(claimed_task.task.id);
                finish(&store, &claimed_task, completed()).await?;
            }
            Ok::<_, CaseFailure>(ids)
        }));
    }
    let mut all = BTreeSet::new();
    let mut count = 0;
    for worker in workers {
        let ids = worker.await??;
        count += ids.len();
        all.extend(ids);
    }
    same!((count, all.len()), (TASKS, TASKS));
    let left = TaskFilter {
        status: Some(TaskStatus::Pending),
        ..TaskFilter::default()
    };
    check!(
        on.store.tasks(left).await?.is_empty(),
        "some tasks were not claimed"
    );
    Ok(())
}
