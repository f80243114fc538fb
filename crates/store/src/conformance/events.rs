//! Messages: numbered, told in order, and waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windlass_core::Usage;
use windlass_core::task::{
    Broadcast, Dependency, EventFilter, LoggedEvent, NewTask, Outcome, Release, StoreError, TaskId,
    TaskStatus, TaskStore,
};

use super::{
    CaseFailure, CaseResult, LEASE, StoreUnderTest, add, added, check, claimed, completed,
    fail_case, failed, finish, project, same,
};

/// Long enough for a busy machine; nothing waits for its end.
const PATIENCE: Duration = Duration::from_secs(60);

fn activity_message(project_id: i64, message: &str) -> Broadcast {
    Broadcast::ActivityUpdate {
        project_id,
        activity_type: "test".to_owned(),
        agent_id: "worker".to_owned(),
        message: message.to_owned(),
        task_id: None,
    }
}

/// All messages after a number, page by page; a gap is a fault.
pub(super) async fn read_on(
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
            same!(event.seq, after + 1, "numbers have no gap");
            after = event.seq;
            all.push(event);
        }
    }
}

pub(super) async fn p14_messages_are_read_from_any_number_on(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?.id;
    let task = add(&on.store, NewTask::new(project, "a task")).await?.id;
    let before = on.store.wait_for_events(0, Duration::ZERO).await?;
    // Big and small batches, so that every way of writing them is taken.
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
        let got = read_on(&on.other, before + cut as u64, 97).await?;
        let got: Vec<_> = got.into_iter().map(|event| event.message).collect();
        check!(got == sent[cut..], "after {cut} of them");
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
        on.store.events(only(Some(project + 1), None)).await?,
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
        "it was not bounded"
    );
    Ok(())
}

pub(super) async fn p14_a_batch_that_is_said_twice_is_one(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    let one = claimed(&on.store).await?;
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
        // The same end, another beginning.
        vec![about("b"), about("b"), about("c")],
        vec![about("d")],
        vec![about("a"), about("b"), about("c")],
    ];
    let mut sent = Vec::new();
    for batch in batches {
        let first = on
            .store
            .append_events(Some(one.attempt), batch.clone())
            .await?;
        let again = on
            .other
            .append_events(Some(one.attempt), batch.clone())
            .await?;
        same!(again, first, "the answer may have been lost");
        sent.extend(batch);
    }
    let got = read_on(&on.store, before, 97).await?;
    let got: Vec<_> = got.into_iter().map(|event| event.message).collect();
    same!(got, sent);
    Ok(())
}

pub(super) async fn p14_numbers_have_no_gap_under_many_writers(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?.id;
    let start = on.store.wait_for_events(0, Duration::ZERO).await?;
    let ended = Arc::new(AtomicBool::new(false));
    // A reader that follows must at no time see a number before a lower one.
    let follower = {
        let (store, ended) = (Arc::clone(&on.other), Arc::clone(&ended));
        tokio::spawn(async move {
            let mut seen = start;
            loop {
                let last = ended.load(Ordering::Acquire);
                seen += read_on(&store, seen, 0).await?.len() as u64;
                if last {
                    return Ok::<u64, CaseFailure>(seen);
                }
                tokio::task::yield_now().await;
            }
        })
    };
    let mut writers = Vec::new();
    for writer in 0..16 {
        let door = if writer % 2 == 0 {
            &on.store
        } else {
            &on.other
        };
        let store = Arc::clone(door);
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

/// What was told about tasks: which, how it is now, and who says so.
async fn statuses(
    store: &Arc<dyn TaskStore>,
) -> Result<Vec<(TaskId, TaskStatus, String)>, CaseFailure> {
    let told = read_on(store, 0, 0).await?.into_iter();
    let status = told.filter_map(|event| match event.message {
        Broadcast::TaskStatus {
            task_id,
            status,
            agent_id,
            ..
        } => Some((task_id, status, agent_id)),
        _ => None,
    });
    Ok(status.collect())
}

pub(super) async fn every_status_change_is_broadcast(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    let next = NewTask {
        dependencies: vec![Dependency::Task(task.id)],
        ..NewTask::new(task.project_id, "next")
    };
    let next = add(&on.store, next).await?;
    let one = claimed(&on.store).await?;
    finish(&on.store, &one, failed(true)).await?;
    let one = claimed(&on.store).await?;
    let release = Release {
        reason: "later".to_owned(),
        usage: Usage::default(),
    };
    on.store.release(one.attempt, release).await?;
    claimed(&on.store).await?;
    on.leap.advance(LEASE * 2);
    on.store.reclaim_expired().await?;
    let one = claimed(&on.store).await?;
    let task = finish(
        &on.store,
        &one,
        Outcome::Blocked {
            question: "?".to_owned(),
        },
    )
    .await?;
    let open = on.store.blockers(None, true).await?;
    let Some(blocker) = open.first() else {
        return fail_case("the question is not there");
    };
    on.store.answer_blocker(blocker.id, "!".to_owned()).await?;
    on.store.cancel(task.id).await?;
    on.store.retry(task.id).await?;
    let one = claimed(&on.store).await?;
    finish(&on.store, &one, completed()).await?;

    let told = statuses(&on.store).await?;
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
    same!(told, wanted.to_vec());
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
        "nothing new"
    );
    // By the same door and by the other one.
    for (writer, reader) in [
        (&on.store, &on.store),
        (&on.store, &on.other),
        (&on.other, &on.store),
    ] {
        let waiter = {
            let reader = Arc::clone(reader);
            tokio::spawn(async move { reader.wait_for_events(seen, PATIENCE).await })
        };
        add(writer, NewTask::new(project, "news")).await?;
        let now = waiter.await??;
        check!(now > seen, "woken for nothing: {now} after {seen}");
        same!(
            reader.wait_for_events(seen, PATIENCE).await?,
            now,
            "what is there is seen at once"
        );
        seen = now;
    }
    Ok(())
}
