//! Pushes and notifications.

use std::time::Duration;

use serde_json::json;
use windlass_tasks::{
    Channel, FollowStep, NewNotification, NewPush, NotificationClaim, NotificationEnd,
    NotificationState, Push, PushClaim, PushEnd, PushState, StoreError, TaskId,
};

use super::{CaseFailure, CaseResult, LEASE, StoreUnderTest, added, check, fail_case, same};

const MINUTE: Duration = Duration::from_secs(60);

fn any_push() -> PushClaim {
    PushClaim {
        id: None,
        project_id: None,
        lease: LEASE,
    }
}

fn new_push(task: TaskId, reference: &str) -> NewPush {
    NewPush {
        task_id: task,
        remote: "origin".to_owned(),
        reference: reference.to_owned(),
    }
}

async fn claimed_push(on: &StoreUnderTest) -> Result<Push, CaseFailure> {
    match on.store.claim_push(any_push()).await? {
        Some(push) => Ok(push),
        None => fail_case("there was no push to claim"),
    }
}

pub(super) async fn push_is_claimed_by_one_and_known_as_ours(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?.id;
    let missing = on
        .store
        .request_push(new_push(TaskId::from(task.get() + 1), "refs/heads/x"));
    check!(
        matches!(missing.await, Err(StoreError::NotFound { .. })),
        "the task does not exist"
    );
    on.store
        .request_push(new_push(task, "refs/heads/x"))
        .await?;
    let first = claimed_push(&on).await?;
    same!(first.state, PushState::Pushing);
    same!(
        on.other.claim_push(any_push()).await?,
        None,
        "it is claimed"
    );
    on.store.record_sent(first.at(), "aaa".to_owned()).await?;
    // The process died. After the lease, another one claims the push, and the first one can write no more.
    on.pass(LEASE * 2);
    let second = claimed_push(&on).await?;
    check!(second.is_ours("aaa"), "a sent commit is ours: {second:?}");
    check!(!second.is_ours("bbb"), "another commit is not: {second:?}");
    let end = PushEnd::Pushed {
        commit: "aaa".to_owned(),
        request: Some("https://example.org/1".to_owned()),
    };
    let late = on.other.end_push(first.at(), end.clone()).await;
    check!(matches!(late, Err(StoreError::Refused(_))), "{late:?}");
    let late = on.other.record_sent(first.at(), "bbb".to_owned()).await;
    check!(matches!(late, Err(StoreError::Refused(_))), "{late:?}");
    let pushed = on.store.end_push(second.at(), end).await?;
    same!(pushed.state, PushState::Pushed);
    same!(pushed.commit.as_deref(), Some("aaa"));
    same!(pushed.sent, Vec::<String>::new());
    same!(on.store.claim_push(any_push()).await?, None, "it is done");
    // The next version of the same branch knows what was pushed; another branch does not.
    let again = on
        .store
        .request_push(new_push(task, "refs/heads/x"))
        .await?;
    same!(again.commit.as_deref(), Some("aaa"));
    same!(again.request.as_deref(), Some("https://example.org/1"));
    same!(again.tries, 0);
    let moved = on
        .store
        .request_push(new_push(task, "refs/heads/y"))
        .await?;
    same!((moved.commit, moved.request), (None, None));
    same!(on.store.pushes(task).await?.len(), 1);
    Ok(())
}

pub(super) async fn failed_push_is_due_later_or_waits_for_a_person(
    on: StoreUnderTest,
) -> CaseResult {
    let task = added(&on.store).await?.id;
    on.store
        .request_push(new_push(task, "refs/heads/x"))
        .await?;
    let push = claimed_push(&on).await?;
    let failed = |retry_in| PushEnd::Failed {
        commit: None,
        error: "the remote cannot be reached".to_owned(),
        retry_in,
    };
    let waits = on.store.end_push(push.at(), failed(Some(MINUTE))).await?;
    same!(waits.state, PushState::Queued);
    same!(waits.tries, 1);
    same!(
        on.store.claim_push(any_push()).await?,
        None,
        "it is not due"
    );
    on.pass(MINUTE);
    let push = claimed_push(&on).await?;
    same!(push.tries, 2);
    let waits = on.store.end_push(push.at(), failed(None)).await?;
    same!(waits.state, PushState::Failed);
    check!(waits.error.is_some(), "the reason is stored");
    on.pass(MINUTE * 1000);
    same!(on.store.claim_push(any_push()).await?, None, "for a person");
    let this = PushClaim {
        id: Some(push.id),
        ..any_push()
    };
    let push = on.store.claim_push(this).await?;
    check!(push.is_some(), "a person may try at any time");
    // A clock that was set back must not delay a push forever.
    let year = Duration::from_secs(365 * 24 * 60 * 60);
    on.clocks.database.advance(year);
    on.store
        .request_push(new_push(task, "refs/heads/x"))
        .await?;
    on.clocks.database.rewind(year);
    claimed_push(&on).await?;
    Ok(())
}

fn notice(on: &windlass_tasks::Task, cause: &str, channel: Channel) -> NewNotification {
    NewNotification {
        project_id: on.project_id,
        task_id: on.id,
        cause: cause.to_owned(),
        channel,
        body: json!({ "cause": cause }),
    }
}

fn webhooks() -> NotificationClaim {
    NotificationClaim {
        project_id: None,
        channels: vec![Channel::Webhook, Channel::Command],
        lease: LEASE,
    }
}

pub(super) async fn follower_moves_once_with_what_it_derived(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    let start = on.store.follow("notify".to_owned()).await?;
    check!(start > 0, "a new follower starts after the last event");
    let step = |from, to, cause: &str| FollowStep {
        follower: "notify".to_owned(),
        from,
        to,
        notifications: vec![notice(&task, cause, Channel::Webhook)],
        pushes: vec![new_push(task.id, "refs/heads/x")],
    };
    same!(
        on.store
            .record_followed(step(start, start + 5, "failed:1"))
            .await?,
        true
    );
    same!(
        on.other
            .record_followed(step(start, start + 9, "failed:2"))
            .await?,
        false,
        "another process was faster"
    );
    same!(on.other.follow("notify".to_owned()).await?, start + 5);
    same!(
        on.store
            .record_followed(step(start + 5, start + 6, "failed:1"))
            .await?,
        true
    );
    let stored = on.store.notifications(None, 0).await?;
    same!(stored.len(), 1, "one for each task, cause and channel");
    same!(on.store.pushes(task.id).await?.len(), 1);
    Ok(())
}

pub(super) async fn notification_is_sent_by_one_and_retried(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    let from = on.store.follow("notify".to_owned()).await?;
    let step = FollowStep {
        follower: "notify".to_owned(),
        from,
        to: from,
        notifications: vec![
            notice(&task, "failed:1", Channel::Desktop),
            notice(&task, "failed:1", Channel::Webhook),
        ],
        pushes: Vec::new(),
    };
    on.store.record_followed(step).await?;
    let Some(first) = on.store.claim_notification(webhooks()).await? else {
        return fail_case("there was no notification to claim");
    };
    same!(
        first.channel,
        Channel::Webhook,
        "the other has no channel here"
    );
    same!(on.other.claim_notification(webhooks()).await?, None);
    let retry = NotificationEnd::Retry {
        error: "503".to_owned(),
        after: MINUTE,
    };
    same!(
        on.store
            .end_notification(first.id, first.claim, retry)
            .await?,
        true
    );
    same!(on.other.claim_notification(webhooks()).await?, None);
    on.pass(MINUTE);
    let Some(second) = on.other.claim_notification(webhooks()).await? else {
        return fail_case("a failed notification is sent again");
    };
    same!((second.id, second.tries), (first.id, 2));
    let sent = NotificationEnd::Sent;
    let late = on
        .store
        .end_notification(first.id, first.claim, sent.clone());
    same!(late.await?, false, "claimed again since");
    same!(
        on.other
            .end_notification(second.id, second.claim, sent)
            .await?,
        true
    );
    on.pass(MINUTE * 10);
    same!(on.store.claim_notification(webhooks()).await?, None);
    let stored = on.store.notifications(Some(task.project_id), 0).await?;
    let states: Vec<_> = stored.iter().map(|one| (one.channel, one.state)).collect();
    same!(
        states,
        vec![
            (Channel::Webhook, NotificationState::Sent),
            (Channel::Desktop, NotificationState::Pending),
        ]
    );
    Ok(())
}
