//! Sixteen writers at once, through two doors, for as long as is to be spent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use windlass_core::task::{
    Broadcast, LeaseStatus, NewTask, TaskFilter, TaskId, TaskStatus, TaskStore,
};
use windlass_core::{Clock, SystemClock};

use super::{
    CaseFailure, CaseResult, LEASE, StoreUnderTest, add, any, check, completed, failed, finish,
    project, same,
};

const WRITERS: u64 = 16;

/// What a writer knows to have happened.
#[derive(Debug, Default)]
struct WriterLog {
    added: Vec<TaskId>,
    completed: Vec<TaskId>,
}

pub(super) async fn p9_sixteen_writers_at_once(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?.id;
    let clock = SystemClock::new();
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let door = if writer % 2 == 0 {
            &on.store
        } else {
            &on.other
        };
        let work = work(Arc::clone(door), project, writer, clock, on.spend);
        writers.push(tokio::spawn(work));
    }
    let (mut added, mut done) = (BTreeSet::new(), Vec::new());
    for writer in writers {
        let deeds = writer.await??;
        added.extend(deeds.added);
        done.extend(deeds.completed);
    }
    let ended: BTreeSet<TaskId> = done.iter().copied().collect();
    same!(ended.len(), done.len(), "something was completed twice");
    check!(!ended.is_empty(), "nothing was done");
    same!(found(&on.other).await?, (added, ended));
    check_broadcast_once(&on.store, &done).await
}

async fn work(
    store: Arc<dyn TaskStore>,
    project: i64,
    writer: u64,
    clock: SystemClock,
    spend: Duration,
) -> Result<WriterLog, CaseFailure> {
    let mut deeds = WriterLog::default();
    let mut round = writer;
    while clock.elapsed() < spend {
        round += 1;
        let new = NewTask {
            priority: u8::try_from(round % 5).unwrap_or(0),
            max_attempts: 1_000_000,
            ..NewTask::new(project, format!("{writer}/{round}"))
        };
        deeds.added.push(add(&store, new).await?.id);
        store.reclaim_expired().await?;
        let Some(one) = store.claim(any(&format!("writer {writer}"))).await? else {
            continue;
        };
        let beat = store.heartbeat(one.attempt, LEASE).await?;
        same!(beat, LeaseStatus::Held);
        let message = Broadcast::ActivityUpdate {
            project_id: project,
            activity_type: "work".to_owned(),
            agent_id: "worker".to_owned(),
            message: format!("{round}"),
            task_id: Some(one.task.id),
        };
        store
            .append_events(Some(one.attempt), vec![message])
            .await?;
        if round.is_multiple_of(4) {
            finish(&store, &one, failed(true)).await?;
        } else {
            finish(&store, &one, completed()).await?;
            deeds.completed.push(one.task.id);
        }
    }
    Ok(deeds)
}

/// All tasks, and the completed ones.
async fn found(
    store: &Arc<dyn TaskStore>,
) -> Result<(BTreeSet<TaskId>, BTreeSet<TaskId>), CaseFailure> {
    let (mut all, mut completed) = (BTreeSet::new(), BTreeSet::new());
    let mut after = None;
    loop {
        let page = store
            .tasks(TaskFilter {
                after,
                ..TaskFilter::default()
            })
            .await?;
        let Some(last) = page.last() else {
            return Ok((all, completed));
        };
        after = Some(last.id);
        for task in &page {
            all.insert(task.id);
            if task.status == TaskStatus::Completed {
                completed.insert(task.id);
            }
        }
    }
}

/// Whether each end was told exactly once.
async fn check_broadcast_once(store: &Arc<dyn TaskStore>, done: &[TaskId]) -> CaseResult {
    let mut told: BTreeMap<TaskId, usize> = BTreeMap::new();
    for event in super::events::read_on(store, 0, 0).await? {
        if let Broadcast::TaskStatus {
            task_id,
            status: TaskStatus::Completed,
            ..
        } = event.message
        {
            *told.entry(task_id).or_default() += 1;
        }
    }
    let wanted: BTreeMap<TaskId, usize> = done.iter().map(|id| (*id, 1)).collect();
    check!(told == wanted, "what was completed is not what was told");
    Ok(())
}
