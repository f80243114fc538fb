//! Messages to agents, and tasks that a person takes over.

use windlass_core::Usage;
use windlass_tasks::{
    Claim, Dependency, MAX_MESSAGE_BYTES, MessageId, NewTask, Release, StoreError, TaskId,
    TaskStatus,
};

use super::{
    CaseResult, StoreUnderTest, add, added, any, check, claimed, completed, failed, finish, same,
};

pub(super) async fn message_is_delivered_once(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    let send = |text: &str| {
        on.other
            .send_message(task.id, "ann".to_owned(), text.to_owned())
    };
    let first = send("use tabs").await?;
    same!((first.author.as_str(), first.attempt), ("ann", None));
    let one = claimed(&on.store).await?;
    let second = send("and no spaces\u{0}").await?;
    let texts = |messages: &[windlass_tasks::AgentMessage]| -> Vec<MessageId> {
        messages.iter().map(|message| message.id).collect()
    };
    // The first response was lost.
    for _ in 0..2 {
        let taken = on.store.take_messages(one.attempt, None).await?;
        same!(texts(&taken), vec![first.id, second.id]);
    }
    same!(
        on.store.take_messages(one.attempt, Some(second.id)).await?,
        Vec::new()
    );
    let third = send("third").await?;
    let taken = on.store.take_messages(one.attempt, Some(second.id)).await?;
    same!(texts(&taken), vec![third.id]);

    let release = Release {
        reason: "the worker stops".to_owned(),
        usage: Usage::default(),
    };
    on.store.release(one.attempt, release).await?;
    let late = on.store.take_messages(one.attempt, None).await;
    check!(
        matches!(late, Err(StoreError::Superseded { .. })),
        "{late:?}"
    );
    let two = claimed(&on.store).await?;
    same!(on.store.take_messages(two.attempt, None).await?, Vec::new());
    let all = on.other.messages(task.id).await?;
    let attempts: Vec<_> = all.iter().map(|message| message.attempt).collect();
    same!(attempts, vec![Some(1); 3]);

    let long = "x".repeat(MAX_MESSAGE_BYTES + 1);
    for bad in ["", "  \n", long.as_str()] {
        let refused = send(bad).await;
        check!(
            matches!(refused, Err(StoreError::Refused(_))),
            "{refused:?}"
        );
    }
    let missing = on
        .store
        .send_message(TaskId::from(99), String::new(), "x".to_owned());
    let missing = missing.await;
    check!(
        matches!(missing, Err(StoreError::NotFound { .. })),
        "{missing:?}"
    );
    Ok(())
}

pub(super) async fn person_takes_over_an_ended_task(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    let named = Claim {
        task: Some(task.id),
        ..any("ann")
    };
    let one = claimed(&on.store).await?;
    let running = on.other.take_over(named.clone()).await;
    check!(
        matches!(running, Err(StoreError::Refused(_))),
        "{running:?}"
    );
    finish(&on.store, &one, completed()).await?;

    // Every status, and a paused task.
    let two = on.other.take_over(named.clone()).await?;
    same!(
        (two.attempt.number, two.task.status),
        (2, TaskStatus::InProgress)
    );
    same!(
        (two.task.branch.clone(), two.task.completed_at),
        (None, None)
    );
    on.store.record_change(two.attempt, "c".repeat(40)).await?;
    let change = on.store.earlier_change(task.id).await?;
    same!(
        change.map(|change| change.attempt),
        Some(2),
        "the attempt starts from the person's change"
    );
    same!(on.store.claim(any("w")).await?, None);
    let again = finish(&on.store, &two, failed(true)).await?;
    same!(again.status, TaskStatus::Pending);
    on.store.pause_task(task.id).await?;
    let three = on.store.take_over(named.clone()).await?;
    check!(!three.task.paused, "the person has it");
    finish(&on.store, &three, completed()).await?;

    let waits = NewTask {
        dependencies: vec![Dependency::Task(task.id)],
        ..NewTask::new(task.project_id, "waits")
    };
    on.store.retry(task.id, false).await?;
    let waits = add(&on.store, waits).await?;
    let before = on.store.task(waits.id).await?;
    let refused = on.store.take_over(Claim {
        task: Some(waits.id),
        ..any("ann")
    });
    let refused = refused.await;
    check!(
        matches!(refused, Err(StoreError::Refused(_))),
        "{refused:?}"
    );
    same!(
        on.store.task(waits.id).await?,
        before,
        "nothing has changed"
    );
    Ok(())
}
