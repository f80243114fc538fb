//! Two doors to the same data, as two processes have them.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::task::{NewTask, TaskFilter, TaskStatus};

use super::{
    CaseFailure, CaseResult, StoreUnderTest, add, any, check, claimed, completed, finish, project,
    same,
};

pub(super) async fn p9_two_doors_show_the_same(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?;
    same!(
        super::project(&on.other).await?,
        project,
        "the same folder is the same project"
    );
    let task = add(&on.other, NewTask::new(project.id, "a task")).await?;
    let one = claimed(&on.store).await?;
    same!(one.task.id, task.id);
    same!(on.other.task(task.id).await?.status, TaskStatus::InProgress);
    same!(on.other.claim(any("w")).await?, None);
    let done = finish(&on.other, &one, completed()).await?;
    same!(on.store.task(task.id).await?, done);
    Ok(())
}

pub(super) async fn nobody_gets_the_same_task_twice(on: StoreUnderTest) -> CaseResult {
    const TASKS: usize = 120;
    let project = project(&on.store).await?.id;
    on.store
        .enqueue(vec![NewTask::new(project, "a task"); TASKS])
        .await?;
    let mut workers = Vec::new();
    for worker in 0..8 {
        let door = if worker % 2 == 0 {
            &on.store
        } else {
            &on.other
        };
        let store = Arc::clone(door);
        workers.push(tokio::spawn(async move {
            let mut got = Vec::new();
            while let Some(one) = store.claim(any(&format!("worker {worker}"))).await? {
                got.push(one.task.id);
                finish(&store, &one, completed()).await?;
            }
            Ok::<_, CaseFailure>(got)
        }));
    }
    let mut all = BTreeSet::new();
    let mut count = 0;
    for worker in workers {
        let got = worker.await??;
        count += got.len();
        all.extend(got);
    }
    same!((count, all.len()), (TASKS, TASKS));
    let left = TaskFilter {
        status: Some(TaskStatus::Pending),
        ..TaskFilter::default()
    };
    check!(
        on.store.tasks(left).await?.is_empty(),
        "some were not found"
    );
    Ok(())
}
