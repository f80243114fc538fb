//! What people do: stop, answer, decide, look.

use serde_json::json;
use windlass_core::task::{
    Ending, Lease, NewApproval, NewTask, Outcome, Release, StoreError, TaskStatus,
};
use windlass_core::{PermissionKind, PermissionOption, TraceNode, Usage};

use super::{
    LEASE, Subject, Verdict, add, added, any, check, claimed, completed, failed, fault, finish,
    same,
};

pub(super) async fn a_cancel_is_a_wish_while_somebody_works(on: Subject) -> Verdict {
    let task = added(&on.store).await?;
    same!(
        on.store.cancel(task.id).await?.status,
        TaskStatus::Cancelled,
        "nobody works on it"
    );
    same!(
        on.store.cancel(task.id).await?.status,
        TaskStatus::Cancelled,
        "twice is once"
    );
    same!(on.store.claim(any("w")).await?, None);
    on.store.retry(task.id).await?;

    // Each way in which an attempt can end once it was asked to.
    let one = claimed(&on.store).await?;
    same!(on.store.heartbeat(one.attempt, LEASE).await?, Lease::Held);
    same!(
        on.other.cancel(task.id).await?.status,
        TaskStatus::InProgress
    );
    same!(
        on.store.heartbeat(one.attempt, LEASE).await?,
        Lease::CancelRequested
    );
    same!(
        finish(&on.store, &one, Outcome::Cancelled).await?.status,
        TaskStatus::Cancelled
    );

    on.store.retry(task.id).await?;
    let one = claimed(&on.store).await?;
    same!(
        on.store.heartbeat(one.attempt, LEASE).await?,
        Lease::Held,
        "the wish was of old"
    );
    on.store.cancel(task.id).await?;
    same!(
        finish(&on.store, &one, failed(true)).await?.status,
        TaskStatus::Cancelled
    );

    on.store.retry(task.id).await?;
    let one = claimed(&on.store).await?;
    on.store.cancel(task.id).await?;
    let release = Release {
        reason: "the worker stops".to_owned(),
        usage: Usage::default(),
    };
    on.store.release(one.attempt, release).await?;
    same!(on.store.task(task.id).await?.status, TaskStatus::Cancelled);

    on.store.retry(task.id).await?;
    claimed(&on.store).await?;
    on.store.cancel(task.id).await?;
    on.leap.ahead(LEASE * 2);
    on.store.sweep().await?;
    same!(
        on.store.task(task.id).await?.status,
        TaskStatus::Cancelled,
        "the worker is gone"
    );

    on.store.retry(task.id).await?;
    let one = claimed(&on.store).await?;
    on.store.cancel(task.id).await?;
    let done = finish(&on.store, &one, completed()).await?;
    same!(done.status, TaskStatus::Completed, "what is done is done");
    Ok(())
}

pub(super) async fn a_question_is_answered_once(on: Subject) -> Verdict {
    let task = added(&on.store).await?;
    let other = add(&on.store, NewTask::new(task.project_id, "other")).await?;
    let one = claimed(&on.store).await?;
    let question = "which tea?".to_owned();
    let asked = finish(
        &on.store,
        &one,
        Outcome::Blocked {
            question: question.clone(),
        },
    )
    .await?;
    same!(
        (asked.status, asked.output),
        (TaskStatus::Blocked, Some(question.clone()))
    );
    let open = on.store.blockers(Some(task.project_id), true).await?;
    let [blocker] = &open[..] else {
        return fault(format!("one question was asked: {open:?}"));
    };
    same!((blocker.task_id, blocker.attempt), (task.id, 1));
    same!(blocker.question, question);
    same!(blocker.answer, None);
    same!(
        on.store.blockers(Some(task.project_id + 1), true).await?,
        vec![]
    );

    let empty = on.store.answer(blocker.id, " \n".to_owned()).await;
    check!(matches!(empty, Err(StoreError::Refused(_))), "{empty:?}");
    let task = on.other.answer(blocker.id, "green".to_owned()).await?;
    same!(task.status, TaskStatus::Pending);
    let again = on.store.answer(blocker.id, "black".to_owned()).await;
    check!(matches!(again, Err(StoreError::Refused(_))), "{again:?}");
    same!(on.store.blockers(None, true).await?, vec![]);
    same!(on.store.blockers(None, false).await?.len(), 1);
    let known = on.store.questions(task.id).await?;
    let answers: Vec<_> = known.iter().flat_map(|known| &known.answer).collect();
    same!(
        answers
            .iter()
            .map(|answer| answer.text.as_str())
            .collect::<Vec<_>>(),
        ["green"]
    );
    same!(on.store.questions(other.id).await?, vec![]);

    // A question whose task went on without the answer is no longer open.
    let one = claimed(&on.store).await?;
    let task = finish(&on.store, &one, Outcome::Blocked { question }).await?;
    on.store.retry(task.id).await?;
    same!(on.store.blockers(None, true).await?, vec![]);
    Ok(())
}

pub(super) async fn a_permission_is_decided_once(on: Subject) -> Verdict {
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
    };
    let asked = on.store.ask(new.clone()).await?;
    same!(asked.asked, new);
    same!(on.other.approvals(true).await?, vec![asked.clone()]);
    let wrong = on.other.decide(asked.id, Some("perhaps".to_owned())).await;
    check!(matches!(wrong, Err(StoreError::Refused(_))), "{wrong:?}");
    let decided = on.other.decide(asked.id, Some("no".to_owned())).await?;
    same!(
        on.store.decide(asked.id, None).await?,
        decided,
        "the first decision holds"
    );
    same!(on.store.approval(asked.id).await?, decided);
    same!(
        decided
            .decision
            .and_then(|decision| decision.option)
            .as_deref(),
        Some("no")
    );

    // What is still asked when the attempt ends is withdrawn with it.
    let open = on.store.ask(new.clone()).await?;
    finish(&on.store, &one, completed()).await?;
    let withdrawn = on.store.approval(open.id).await?.decision;
    same!(withdrawn.map(|decision| decision.option), Some(None));
    same!(on.store.approvals(true).await?, vec![]);
    same!(on.store.approvals(false).await?.len(), 2);
    let late = on.store.ask(new).await;
    check!(
        late.as_ref().is_err_and(StoreError::is_superseded),
        "{late:?}"
    );
    Ok(())
}

pub(super) async fn attempts_are_remembered(on: Subject) -> Verdict {
    let task = added(&on.store).await?;
    same!(on.store.attempts(task.id).await?, vec![]);
    let missing = on.store.attempts(task.id + 1).await;
    check!(
        matches!(missing, Err(StoreError::NotFound { .. })),
        "{missing:?}"
    );
    let one = claimed(&on.store).await?;
    let under_way = on.other.attempts(task.id).await?;
    same!(under_way.len(), 1);
    same!(
        (
            under_way[0].number,
            under_way[0].ended_at,
            under_way[0].outcome
        ),
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
    on.leap.ahead(LEASE * 2);
    on.store.sweep().await?;
    on.store.retry(task.id).await.ok();
    let four = claimed(&on.store).await?;
    finish(&on.store, &four, completed()).await?;

    let all = on.other.attempts(task.id).await?;
    let endings: Vec<_> = all.iter().map(|attempt| attempt.outcome).collect();
    let wanted = [
        Ending::Failed,
        Ending::Released,
        Ending::Lost,
        Ending::Completed,
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

pub(super) async fn traces_are_kept(on: Subject) -> Verdict {
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
