//! Events: numbered, delivered in order, and waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windlass_core::Usage;
use windlass_tasks::{
    Broadcast, Dependency, EventFilter, LoggedEvent, NewTask, Outcome, ProjectId, Release,
    StoreError, TaskId, TaskStatus, TaskStore,
};

use super::{
    CaseFailure, CaseResult, LEASE, StoreUnderTest, add, added, check, claimed, completed,
    fail_case, failed, finish, project, same,
};

/// Long enough for a busy machine; no case waits until it elapses.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

fn activity_message(project_id: ProjectId, message: &str) -> Broadcast {
    Broadcast::ActivityUpdate {
        project_id,
        activity_type: "test".to_owned(),
        agent_id: "worker".to_owned(),
        message: message.to_owned(),
        task_id: None,
    }
}

/// Reads all events after a sequence number, page by page. A gap fails the case.
pub(super) async fn read_all_after(
    store: &Arc<dyn TaskStore>,
    mut after: u64,
    limit: u32,
) -> Result<Vec<LoggedEvent>, CaseFailure> {
    let mut all = Vec::new();
    loop {
        let filter = EventFilter {
            after,
            limit,
            ..EventFilter::default()
        };
        let page = store.events(filter).await?;
        if page.is_empty() {
            return Ok(all);
        }
        for event in page {
            same!(event.seq, after + 1, "sequence numbers must have no gap");
            after = event.seq;
            all.push(event);
        }
    }
}

pub(super) async fn p14_events_are_read_from_any_seq(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?.id;
    let task = add(&on.store, NewTask::new(project, "a task")).await?.id;
    let before = on.store.wait_for_events(0, Duration::ZERO).await?;
    // Batches of several sizes, so that every insert statement is used.
    let mut sent = Vec::new();
    for size in [1, 2, 3, 64, 100, 130] {
        let batch: Vec<Broadcast> = (0..size)
            .map(|at| activity_message(project, &format!("{size}/{at} \0 \u{1F375}")))
            .collect();
        let last = on.store.append_events(None, batch.clone()).await?;
        sent.extend(batch);
        same!(last, before + sent.len() as u64);
    }
    same!(
        on.store.append_events(None, Vec::new()).await?,
        before + sent.len() as u64
    );
    for cut in 0..=sent.len() {
        let got = read_all_after(&on.other, before + cut as u64, 97).await?;
        let got: Vec<_> = got.into_iter().map(|event| event.message).collect();
        check!(got == sent[cut..], "after {cut} events");
    }
    for cut in [1, 50, 97, sent.len()] {
        let filter = EventFilter {
            after: before,
            before: Some(before + cut as u64 + 1),
            limit: 50,
            ..EventFilter::default()
        };
        let got = on.other.events(filter).await?.into_iter();
        let got: Vec<_> = got.map(|event| event.message).collect();
        let first = cut.saturating_sub(50);
        check!(got == sent[first..cut], "the newest before event {cut}");
    }
    let only = |project_id, task_id| EventFilter {
        project_id,
        task_id,
        ..EventFilter::default()
    };
    same!(
        on.store.events(only(None, Some(task))).await?.len(),
        before as usize
    );
    same!(
        on.store
            .events(only(Some(ProjectId::from(project.get() + 1)), None))
            .await?,
        vec![]
    );
    same!(
        on.store
            .events(only(Some(project), Some(task)))
            .await?
            .len(),
        before as usize
    );
    let all = on.store.events(only(Some(project), None)).await?;
    same!(all.len(), sent.len() + before as usize);
    let huge = on
        .store
        .append_events(None, vec![activity_message(project, &"x".repeat(2 << 20))])
        .await;
    check!(
        matches!(huge, Err(StoreError::Refused(_))),
        "an oversized event was accepted"
    );
    Ok(())
}

pub(super) async fn p14_repeated_batch_is_stored_once(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    let claimed_task = claimed(&on.store).await?;
    let about = |text: &str| Broadcast::ActivityUpdate {
        project_id: task.project_id,
        activity_type: "test".to_owned(),
        agent_id: "worker".to_owned(),
        message: text.to_owned(),
        task_id: Some(task.id),
    };
    let before = on.store.wait_for_events(0, Duration::ZERO).await?;
    let batches = [
        vec![about("a"), about("b"), about("c")],
        // The same last events, another first event.
        vec![about("b"), about("b"), about("c")],
        vec![about("d")],
        vec![about("a"), about("b"), about("c")],
    ];
    let mut sent = Vec::new();
    for batch in batches {
        let first = on
            .store
            .append_events(Some(claimed_task.attempt), batch.clone())
            .await?;
        let again = on
            .other
            .append_events(Some(claimed_task.attempt), batch.clone())
            .await?;
        same!(again, first, "the reply may have been lost");
        sent.extend(batch);
    }
    let got = read_all_after(&on.store, before, 97).await?;
    let got: Vec<_> = got.into_iter().map(|event| event.message).collect();
    same!(got, sent);
    Ok(())
}

pub(super) async fn p14_concurrent_writers_leave_no_seq_gaps(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?.id;
    let start = on.store.wait_for_events(0, Duration::ZERO).await?;
    let ended = Arc::new(AtomicBool::new(false));
    // A reader that follows the log must never see a sequence number before a lower one.
    let follower = {
        let (store, ended) = (Arc::clone(&on.other), Arc::clone(&ended));
        tokio::spawn(async move {
            let mut seen = start;
            loop {
                let last = ended.load(Ordering::Acquire);
                seen += read_all_after(&store, seen, 0).await?.len() as u64;
                if last {
                    return Ok::<u64, CaseFailure>(seen);
                }
                tokio::task::yield_now().await;
            }
        })
    };
    let mut writers = Vec::new();
    for writer in 0..16 {
        let connection = if writer % 2 == 0 {
            &on.store
        } else {
            &on.other
        };
        let store = Arc::clone(connection);
        writers.push(tokio::spawn(async move {
            for at in 0..25 {
                let size = at % 3 + 1;
                let batch = vec![activity_message(project, &format!("{writer}/{at}")); size];
                store.append_events(None, batch).await?;
            }
            Ok::<(), CaseFailure>(())
        }));
    }
    for writer in writers {
        writer.await??;
    }
    ended.store(true, Ordering::Release);
    let seen = follower.await??;
    let sent: u64 = (0..25).map(|at| at % 3 + 1).sum::<u64>() * 16;
    same!(seen - start, sent);
    Ok(())
}

/// Returns the status events in the log: task, status and agent id.
async fn statuses(
    store: &Arc<dyn TaskStore>,
) -> Result<Vec<(TaskId, TaskStatus, String)>, CaseFailure> {
    let events = read_all_after(store, 0, 0).await?.into_iter();
    let statuses = events.filter_map(|event| match event.message {
        Broadcast::TaskStatus {
            task_id,
            status,
            agent_id,
            ..
        } => Some((task_id, status, agent_id)),
        _ => None,
    });
    Ok(statuses.collect())
}

pub(super) async fn every_status_change_is_broadcast(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    let next = NewTask {
        dependencies: vec![Dependency::Task(task.id)],
        ..NewTask::new(task.project_id, "next")
    };
    let next = add(&on.store, next).await?;
    let claimed_task = claimed(&on.store).await?;
    finish(&on.store, &claimed_task, failed(true)).await?;
    let claimed_task = claimed(&on.store).await?;
    let release = Release {
        reason: "later".to_owned(),
        usage: Usage::default(),
    };
    on.store.release(claimed_task.attempt, release).await?;
    claimed(&on.store).await?;
    on.pass(LEASE * 2);
    on.store.reclaim_expired().await?;
    let claimed_task = claimed(&on.store).await?;
    let task = finish(
        &on.store,
        &claimed_task,
        Outcome::Blocked {
            question: "?".to_owned(),
        },
    )
    .await?;
    let open = on.store.blockers(None, true).await?;
    let Some(blocker) = open.first() else {
        return fail_case("the question was not stored");
    };
    on.store.answer_blocker(blocker.id, "!".to_owned()).await?;
    on.store.cancel(task.id).await?;
    on.store.retry(task.id, false).await?;
    let claimed_task = claimed(&on.store).await?;
    finish(&on.store, &claimed_task, completed()).await?;

    let broadcast = statuses(&on.store).await?;
    use TaskStatus::{Blocked, Cancelled, Completed, InProgress, Pending};
    let (worker, backend) = ("worker", "backend-worker");
    let wanted = [
        (task.id, Pending, worker),
        (next.id, Pending, worker),
        (task.id, InProgress, backend),
        (task.id, Pending, backend),
        (task.id, InProgress, backend),
        (task.id, Pending, backend),
        (task.id, InProgress, backend),
        (task.id, Pending, worker),
        (task.id, InProgress, backend),
        (task.id, Blocked, backend),
        (task.id, Pending, worker),
        (task.id, Cancelled, worker),
        (next.id, Blocked, worker),
        (task.id, Pending, worker),
        (next.id, Pending, worker),
        (task.id, InProgress, backend),
        (task.id, Completed, backend),
    ];
    let wanted = wanted.map(|(task, status, agent)| (task, status, agent.to_owned()));
    same!(broadcast, wanted.to_vec());
    Ok(())
}

pub(super) async fn waiters_are_woken(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?.id;
    let mut seen = on.store.wait_for_events(0, Duration::ZERO).await?;
    same!(
        on.store
            .wait_for_events(seen, Duration::from_millis(1))
            .await?,
        seen,
        "there are no new events"
    );
    // On the same connection and across connections.
    for (writer, reader) in [
        (&on.store, &on.store),
        (&on.store, &on.other),
        (&on.other, &on.store),
    ] {
        let waiter = {
            let reader = Arc::clone(reader);
            tokio::spawn(async move { reader.wait_for_events(seen, WAIT_TIMEOUT).await })
        };
        add(writer, NewTask::new(project, "a task")).await?;
        let now = waiter.await??;
        check!(now > seen, "woken without a new event: {now} after {seen}");
        same!(
            reader.wait_for_events(seen, WAIT_TIMEOUT).await?,
            now,
            "existing events are returned immediately"
        );
        seen = now;
    }
    Ok(())
}
