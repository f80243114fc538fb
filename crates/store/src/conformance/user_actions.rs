//! User actions: cancel, answer, decide, list.

use serde_json::json;
use windlass_core::{PermissionKind, PermissionOption, Timestamp, TraceNode, Usage};
use windlass_tasks::{
    AttemptStatus, LeaseStatus, NewApproval, NewTask, Outcome, ProjectId, Release, StoreError,
    TaskId, TaskStatus,
};

use super::{
    CaseResult, LEASE, StoreUnderTest, add, added, any, check, claimed, completed, fail_case,
    failed, finish, same,
};

pub(super) async fn cancel_is_requested_while_running(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    cancel_pending(&on, task.id).await?;
    on.store.retry(task.id, false).await?;

    // Every way in which an attempt can end after a cancel request.
    let one = claimed(&on.store).await?;
    same!(
        on.store.heartbeat(one.attempt, LEASE).await?,
        LeaseStatus::Held
    );
    same!(
        on.other.cancel(task.id).await?.status,
        TaskStatus::InProgress
    );
    same!(
        on.store.heartbeat(one.attempt, LEASE).await?,
        LeaseStatus::CancelRequested
    );
    same!(
        finish(&on.store, &one, Outcome::Cancelled).await?.status,
        TaskStatus::Cancelled
    );

    on.store.retry(task.id, false).await?;
    let one = claimed(&on.store).await?;
    same!(
        on.store.heartbeat(one.attempt, LEASE).await?,
        LeaseStatus::Held,
        "the old cancel request must not apply"
    );
    on.store.cancel(task.id).await?;
    same!(
        finish(&on.store, &one, failed(true)).await?.status,
        TaskStatus::Cancelled
    );

    on.store.retry(task.id, false).await?;
    let one = claimed(&on.store).await?;
    on.store.cancel(task.id).await?;
    let release = Release {
        reason: "the worker stops".to_owned(),
        usage: Usage::default(),
    };
    on.store.release(one.attempt, release).await?;
    same!(on.store.task(task.id).await?.status, TaskStatus::Cancelled);

    on.store.retry(task.id, false).await?;
    claimed(&on.store).await?;
    on.store.cancel(task.id).await?;
    on.pass(LEASE * 2);
    on.store.reclaim_expired().await?;
    same!(
        on.store.task(task.id).await?.status,
        TaskStatus::Cancelled,
        "the worker stopped sending heartbeats"
    );

    on.store.retry(task.id, false).await?;
    let one = claimed(&on.store).await?;
    on.store.cancel(task.id).await?;
    let done = finish(&on.store, &one, completed()).await?;
    same!(
        done.status,
        TaskStatus::Completed,
        "completed work stays completed"
    );
    Ok(())
}

/// Cancels a task that no worker runs, twice.
async fn cancel_pending(on: &StoreUnderTest, task: TaskId) -> CaseResult {
    for _ in 0..2 {
        same!(
            on.store.cancel(task).await?.status,
            TaskStatus::Cancelled,
            "no worker runs it, and cancelling again has no effect"
        );
    }
    same!(on.store.claim(any("w")).await?, None);
    Ok(())
}

pub(super) async fn blocker_is_answered_once(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    let other = add(&on.store, NewTask::new(task.project_id, "other")).await?;
    let one = claimed(&on.store).await?;
    let question = "which tea?".to_owned();
    let blocked = finish(
        &on.store,
        &one,
        Outcome::Blocked {
            question: question.clone(),
        },
    )
    .await?;
    same!(
        (blocked.status, blocked.output),
        (TaskStatus::Blocked, Some(question.clone()))
    );
    let open = on.store.blockers(Some(task.project_id), true).await?;
    let [blocker] = &open[..] else {
        return fail_case(format!("expected one question: {open:?}"));
    };
    same!((blocker.task_id, blocker.attempt), (task.id, 1));
    same!(blocker.question, question);
    same!(blocker.answer, None);
    same!(
        on.store
            .blockers(Some(ProjectId::from(task.project_id.get() + 1)), true)
            .await?,
        vec![]
    );

    let empty = on.store.answer_blocker(blocker.id, " \n".to_owned()).await;
    check!(matches!(empty, Err(StoreError::Refused(_))), "{empty:?}");
    let task = on
        .other
        .answer_blocker(blocker.id, "green".to_owned())
        .await?;
    same!(task.status, TaskStatus::Pending);
    let again = on
        .store
        .answer_blocker(blocker.id, "black".to_owned())
        .await;
    check!(matches!(again, Err(StoreError::Refused(_))), "{again:?}");
    same!(on.store.blockers(None, true).await?, vec![]);
    same!(on.store.blockers(None, false).await?.len(), 1);
    let stored = on.store.task_blockers(task.id).await?;
    let answers: Vec<_> = stored.iter().flat_map(|blocker| &blocker.answer).collect();
    same!(
        answers
            .iter()
            .map(|answer| answer.text.as_str())
            .collect::<Vec<_>>(),
        ["green"]
    );
    same!(on.store.task_blockers(other.id).await?, vec![]);

    // A question is no longer open after its task was retried without an answer.
    let one = claimed(&on.store).await?;
    let task = finish(&on.store, &one, Outcome::Blocked { question }).await?;
    on.store.retry(task.id, false).await?;
    same!(on.store.blockers(None, true).await?, vec![]);
    Ok(())
}

pub(super) async fn approval_is_decided_once(on: StoreUnderTest) -> CaseResult {
    added(&on.store).await?;
    let one = claimed(&on.store).await?;
    let new = NewApproval {
        attempt: one.attempt,
        agent: "codex".to_owned(),
        tool: "shell".to_owned(),
        input: json!({"command": "rm -rf /"}),
        options: vec![PermissionOption {
            id: "no".to_owned(),
            kind: PermissionKind::RejectOnce,
            label: "No".to_owned(),
        }],
        deadline: Some(Timestamp(1_800_000_000_000)),
    };
    let approval = on.store.request_approval(new.clone()).await?;
    same!(approval.request, new);
    same!(on.other.approvals(true).await?, vec![approval.clone()]);
    let wrong = on
        .other
        .decide_approval(approval.id, Some("perhaps".to_owned()))
        .await;
    check!(matches!(wrong, Err(StoreError::Refused(_))), "{wrong:?}");
    let decided = on
        .other
        .decide_approval(approval.id, Some("no".to_owned()))
        .await?;
    same!(
        on.store.decide_approval(approval.id, None).await?,
        decided,
        "the first decision is final"
    );
    same!(on.store.approval(approval.id).await?, decided);
    same!(
        decided
            .decision
            .and_then(|decision| decision.option)
            .as_deref(),
        Some("no")
    );

    // Requests that are open when the attempt ends are withdrawn.
    let open = on.store.request_approval(new.clone()).await?;
    finish(&on.store, &one, completed()).await?;
    let withdrawn = on.store.approval(open.id).await?.decision;
    same!(withdrawn.map(|decision| decision.option), Some(None));
    same!(on.store.approvals(true).await?, vec![]);
    same!(on.store.approvals(false).await?.len(), 2);
    let late = on.store.request_approval(new).await;
    check!(
        late.as_ref().is_err_and(StoreError::is_superseded),
        "{late:?}"
    );
    Ok(())
}

pub(super) async fn attempts_are_listed_with_outcomes(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    same!(on.store.attempts(task.id).await?, vec![]);
    let missing = on.store.attempts(TaskId::from(task.id.get() + 1)).await;
    check!(
        matches!(missing, Err(StoreError::NotFound { .. })),
        "{missing:?}"
    );
    let one = claimed(&on.store).await?;
    let running = on.other.attempts(task.id).await?;
    same!(running.len(), 1);
    same!(
        (running[0].number, running[0].ended_at, running[0].outcome),
        (1, None, None)
    );
    finish(&on.store, &one, failed(true)).await?;
    let two = claimed(&on.store).await?;
    let release = Release {
        reason: "the worker stops".to_owned(),
        usage: Usage {
            input_tokens: 7,
            ..Usage::default()
        },
    };
    on.store.release(two.attempt, release).await?;
    claimed(&on.store).await?;
    on.pass(LEASE * 2);
    on.store.reclaim_expired().await?;
    on.store.retry(task.id, false).await.ok();
    let four = claimed(&on.store).await?;
    finish(&on.store, &four, completed()).await?;

    let all = on.other.attempts(task.id).await?;
    let endings: Vec<_> = all.iter().map(|attempt| attempt.outcome).collect();
    let wanted = [
        AttemptStatus::Failed,
        AttemptStatus::Released,
        AttemptStatus::Lost,
        AttemptStatus::Completed,
    ];
    same!(endings, wanted.map(Some).to_vec());
    let numbers: Vec<u32> = all.iter().map(|attempt| attempt.number).collect();
    same!(numbers, vec![1, 2, 3, 4]);
    check!(all.iter().all(|one| one.ended_at.is_some()), "{all:?}");
    check!(all[..3].iter().all(|one| one.error.is_some()), "{all:?}");
    same!(all[3].error, None);
    same!(all[1].usage.input_tokens, 7);
    Ok(())
}

pub(super) async fn traces_are_stored(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?.id;
    let node = |name: &str| TraceNode {
        name: name.to_owned(),
        ..TraceNode::default()
    };
    for (id, task) in [("a", Some(task)), ("b", None), ("c", Some(task))] {
        on.store.put_trace(id.to_owned(), task, node(id)).await?;
    }
    on.store
        .put_trace("a".to_owned(), Some(task), node("again"))
        .await?;
    same!(on.store.trace("a".to_owned()).await?, node("again"));
    same!(on.store.traces(None, 0).await?, ["c", "b", "a"]);
    same!(on.store.traces(Some(task), 1).await?, ["c"]);
    Ok(())
}
