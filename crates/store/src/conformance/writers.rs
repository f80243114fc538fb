//! Sixteen concurrent writers on two connections, for the configured duration.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use windlass_core::{Clock, SystemClock};
use windlass_tasks::{
    ATTEMPT_LIMIT, Broadcast, LeaseStatus, NewTask, ProjectId, TaskFilter, TaskId, TaskStatus,
    TaskStore,
};

use super::{
    CaseFailure, CaseResult, LEASE, StoreUnderTest, add, any, check, completed, failed, finish,
    project, same,
};

const WRITERS: u64 = 16;

/// The operations that a writer completed.
#[derive(Debug, Default)]
struct WriterLog {
    added: Vec<TaskId>,
    completed: Vec<TaskId>,
}

pub(super) async fn p9_sixteen_concurrent_writers_stay_consistent(
    on: StoreUnderTest,
) -> CaseResult {
    let project = project(&on.store).await?.id;
    let clock = SystemClock::new();
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let connection = if writer % 2 == 0 {
            &on.store
        } else {
            &on.other
        };
        let run = run_writer(
            Arc::clone(connection),
            project,
            writer,
            clock,
            on.load_duration,
        );
        writers.push(tokio::spawn(run));
    }
    let (mut added, mut done) = (BTreeSet::new(), Vec::new());
    for writer in writers {
        let log = writer.await??;
        added.extend(log.added);
        done.extend(log.completed);
    }
    let ended: BTreeSet<TaskId> = done.iter().copied().collect();
    same!(ended.len(), done.len(), "a task was completed twice");
    check!(!ended.is_empty(), "no task was completed");
    same!(all_and_completed(&on.other).await?, (added, ended));
    check_broadcast_once(&on.store, &done).await
}

async fn run_writer(
    store: Arc<dyn TaskStore>,
    project: ProjectId,
    writer: u64,
    clock: SystemClock,
    load_duration: Duration,
) -> Result<WriterLog, CaseFailure> {
    let mut log = WriterLog::default();
    let mut round = writer;
    while clock.elapsed() < load_duration {
        round += 1;
        let new = NewTask {
            priority: u8::try_from(round % 5).unwrap_or(0),
            max_attempts: ATTEMPT_LIMIT,
            ..NewTask::new(project, format!("{writer}/{round}"))
        };
        log.added.push(add(&store, new).await?.id);
        store.reclaim_expired().await?;
        let Some(claimed) = store.claim(any(&format!("writer {writer}"))).await? else {
            continue;
        };
        let lease = store.heartbeat(claimed.attempt, LEASE).await?;
        same!(lease, LeaseStatus::Held);
        let message = Broadcast::ActivityUpdate {
            project_id: project,
            activity_type: "work".to_owned(),
            agent_id: "worker".to_owned(),
            message: format!("{round}"),
            task_id: Some(claimed.task.id),
        };
        store
            .append_events(Some(claimed.attempt), vec![message])
            .await?;
        if round.is_multiple_of(4) {
            finish(&store, &claimed, failed(true)).await?;
        } else {
            finish(&store, &claimed, completed()).await?;
            log.completed.push(claimed.task.id);
        }
    }
    Ok(log)
}

/// Returns all tasks, and the completed ones.
async fn all_and_completed(
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

/// Checks that each completion was broadcast exactly once.
async fn check_broadcast_once(store: &Arc<dyn TaskStore>, done: &[TaskId]) -> CaseResult {
    let mut broadcast: BTreeMap<TaskId, usize> = BTreeMap::new();
    for event in super::events::read_all_after(store, 0, 0).await? {
        if let Broadcast::TaskStatus {
            task_id,
            status: TaskStatus::Completed,
            ..
        } = event.message
        {
            *broadcast.entry(task_id).or_default() += 1;
        }
    }
    let wanted: BTreeMap<TaskId, usize> = done.iter().map(|id| (*id, 1)).collect();
    check!(
        broadcast == wanted,
        "the broadcast completions differ from the completed tasks"
    );
    Ok(())
}
