//! Schedules.

use futures::future::join_all;
use windlass_core::Timestamp;
use windlass_tasks::{Dependency, DueRun, NewSchedule, NewTask, ProjectId, StoreError, TaskId};

use super::{CaseResult, StoreUnderTest, any, check, claimed, completed, finish, project, same};

const DUE: Timestamp = Timestamp(1_000);
const NEXT: Timestamp = Timestamp(2_000);

fn nightly(project: ProjectId) -> NewSchedule {
    NewSchedule {
        cron: "0 3 * * *".to_owned(),
        zone: "Europe/Berlin".to_owned(),
        task: NewTask {
            description: "all of them".to_owned(),
            ..NewTask::new(project, "update the dependencies")
        },
        next_at: DUE,
    }
}

pub(super) async fn due_time_adds_one_task(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?;
    let added = on.store.add_schedule(nightly(project.id)).await?;
    same!(
        on.other.schedules(Some(project.id)).await?,
        vec![added.clone()]
    );
    same!(
        on.other.schedules(Some(ProjectId::from(99))).await?,
        Vec::new()
    );
    same!((added.cron.as_str(), added.next_at), ("0 3 * * *", DUE));

    // Many workers on two connections find the same due time.
    let run = DueRun {
        schedule: added.id,
        due: DUE,
        next: NEXT,
    };
    let runs = (0..10).map(|at| {
        let store = if at % 2 == 0 { &on.store } else { &on.other };
        store.run_schedule(run)
    });
    let mut tasks = Vec::new();
    for ran in join_all(runs).await {
        tasks.extend(ran?);
    }
    let [task] = &tasks[..] else {
        return super::fail_case(format!("expected one task: {tasks:?}"));
    };
    same!(task.description, "all of them");
    let found = on.store.schedules(None).await?.remove(0);
    same!(
        (found.next_at, found.last_at, found.last_task),
        (NEXT, Some(DUE), Some(task.id))
    );

    // The next run is not added while the last one waits, and is after it ended.
    let later = |due, next| DueRun {
        schedule: added.id,
        due,
        next,
    };
    let end = Timestamp(3_000);
    same!(on.store.run_schedule(later(NEXT, end)).await?, None);
    same!(on.store.schedules(None).await?[0].next_at, end);
    let one = claimed(&on.store).await?;
    finish(&on.store, &one, completed()).await?;
    let next = on.store.run_schedule(later(end, Timestamp(4_000))).await?;
    check!(next.is_some_and(|next| next.id != task.id), "not added");
    let back = on.store.run_schedule(later(Timestamp(4_000), DUE)).await;
    check!(matches!(back, Err(StoreError::Refused(_))), "{back:?}");
    Ok(())
}

pub(super) async fn paused_and_removed_schedules_add_nothing(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?;
    let added = on.store.add_schedule(nightly(project.id)).await?;
    let run = DueRun {
        schedule: added.id,
        due: DUE,
        next: NEXT,
    };
    for _ in 0..2 {
        check!(
            on.store.pause_schedule(added.id).await?.paused,
            "not paused"
        );
    }
    same!(on.other.run_schedule(run).await?, None);
    let resumed = on.store.resume_schedule(added.id, Timestamp(5_000)).await?;
    same!((resumed.paused, resumed.next_at), (false, Timestamp(5_000)));
    same!(on.other.run_schedule(run).await?, None, "it is due later");
    same!(on.store.remove_schedule(added.id).await?.id, added.id);
    let run = DueRun {
        due: Timestamp(5_000),
        next: Timestamp(6_000),
        ..run
    };
    same!(on.other.run_schedule(run).await?, None);
    same!(on.store.claim(any("w")).await?, None);
    let removed = on.store.remove_schedule(added.id).await;
    check!(
        matches!(removed, Err(StoreError::NotFound { .. })),
        "{removed:?}"
    );

    let mut bad = nightly(project.id);
    bad.task.dependencies = vec![Dependency::Task(TaskId::from(1))];
    let mut long = nightly(project.id);
    long.cron = "*".repeat(1_000);
    let mut empty = nightly(project.id);
    empty.task.title = " ".to_owned();
    for bad in [bad, long, empty] {
        let refused = on.store.add_schedule(bad).await;
        check!(
            matches!(refused, Err(StoreError::Refused(_))),
            "{refused:?}"
        );
    }
    let missing = on.store.add_schedule(nightly(ProjectId::from(99))).await;
    check!(
        matches!(missing, Err(StoreError::NotFound { .. })),
        "{missing:?}"
    );
    Ok(())
}
