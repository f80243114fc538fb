//! Steering: edits, pauses, notes.

use std::time::Duration;

use windlass_core::Usage;
use windlass_tasks::{
    Claim, MAX_NOTE_BYTES, NewProject, NewTask, ProjectId, Release, StoreError, StoreResult, Task,
    TaskEdit, TaskId, TaskStatus, WorkerKind,
};

use super::{
    CaseFailure, CaseResult, StoreUnderTest, add, added, any, check, claimed, completed, failed,
    finish, project, same,
};

/// Returns the message of a refusal.
fn refusal<T: std::fmt::Debug>(result: StoreResult<T>) -> Result<String, CaseFailure> {
    match result {
        Err(StoreError::Refused(why)) => Ok(why),
        other => super::fail_case(format!("expected a refusal: {other:?}")),
    }
}

pub(super) async fn task_is_edited_unless_it_runs(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    let first = add(&on.store, NewTask::new(task.project_id, "first")).await?;
    let edit = TaskEdit {
        title: Some("sell coffee".to_owned()),
        description: Some("with\u{0} milk".to_owned()),
        priority: Some(1),
        workflow_step: Some(3),
        kind: Some(WorkerKind::Test),
        agent: Some(Some("codex".to_owned())),
        dependencies: Some(vec![first.id, first.id]),
        max_attempts: Some(7),
        expected: Some(task.updated_at),
    };
    let edited = on.store.edit_task(task.id, edit.clone()).await?;
    same!(on.other.task(task.id).await?, edited);
    let wanted = Task {
        title: "sell coffee".to_owned(),
        description: "with\u{FFFD} milk".to_owned(),
        priority: 1,
        workflow_step: 3,
        kind: WorkerKind::Test,
        agent: Some("codex".to_owned()),
        dependencies: vec![first.id],
        max_attempts: 7,
        updated_at: edited.updated_at,
        ..task.clone()
    };
    same!(edited, wanted);
    check!(edited.updated_at > task.updated_at, "the edit is not seen");

    // An editor that has not seen the last version, also if the clock was set back.
    let why = refusal(on.other.edit_task(task.id, edit).await)?;
    check!(why.contains("has changed"), "{why}");
    on.clocks.database.rewind(Duration::from_secs(3_600));
    let again = TaskEdit {
        agent: Some(None),
        expected: Some(edited.updated_at),
        ..TaskEdit::default()
    };
    let later = on.store.edit_task(task.id, again.clone()).await?;
    same!(later.agent, None);
    check!(later.updated_at > edited.updated_at, "time went back");
    refusal(on.store.edit_task(task.id, again).await)?;

    let bad = TaskEdit {
        priority: Some(5),
        title: Some("half".to_owned()),
        ..TaskEdit::default()
    };
    refusal(on.store.edit_task(task.id, bad).await)?;
    same!(on.store.task(task.id).await?, later, "nothing is half done");

    let one = claimed(&on.store).await?;
    same!(one.task.id, first.id, "the other one waits for it");
    let edit = TaskEdit {
        title: Some("too late".to_owned()),
        ..TaskEdit::default()
    };
    let why = refusal(on.store.edit_task(first.id, edit.clone()).await)?;
    check!(why.contains("running"), "{why}");
    let done = finish(&on.store, &one, completed()).await?;
    same!(done.title, "first");
    same!(
        on.store.edit_task(first.id, edit).await?.title,
        "too late",
        "an ended one can be edited"
    );
    Ok(())
}

pub(super) async fn edited_dependencies_decide_what_is_claimed(on: StoreUnderTest) -> CaseResult {
    let a = added(&on.store).await?;
    let b = add(&on.store, NewTask::new(a.project_id, "b")).await?;
    let depends = |on: Vec<TaskId>| TaskEdit {
        dependencies: Some(on),
        ..TaskEdit::default()
    };
    on.store.edit_task(a.id, depends(vec![b.id])).await?;
    for (task, dependency) in [(b.id, a.id), (a.id, a.id)] {
        let why = refusal(on.store.edit_task(task, depends(vec![dependency])).await)?;
        check!(why.contains("cannot depend on"), "{why}");
    }
    let missing = on
        .store
        .edit_task(a.id, depends(vec![b.id, TaskId::from(99)]))
        .await;
    check!(
        matches!(missing, Err(StoreError::NotFound { .. })),
        "{missing:?}"
    );
    same!(on.store.task(a.id).await?.dependencies, vec![b.id]);

    let one = claimed(&on.store).await?;
    same!(one.task.id, b.id);
    same!(on.store.claim(any("w")).await?, None);
    finish(&on.store, &one, failed(false)).await?;
    same!(on.store.task(a.id).await?.status, TaskStatus::Blocked);
    let free = on.store.edit_task(a.id, depends(vec![])).await?;
    same!(free.status, TaskStatus::Pending, "nothing blocks it");
    same!(claimed(&on.store).await?.task.id, a.id);
    Ok(())
}

pub(super) async fn paused_task_is_not_claimed(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    for _ in 0..2 {
        check!(on.store.pause_task(task.id).await?.paused, "not paused");
    }
    let named = Claim {
        task: Some(task.id),
        ..any("w")
    };
    same!(on.other.claim(any("w")).await?, None);
    same!(on.other.claim(named).await?, None);
    let last = on.store.wait_for_events(0, Duration::ZERO).await?;
    check!(!on.store.resume_task(task.id).await?.paused, "paused");
    let now = on.store.wait_for_events(0, Duration::ZERO).await?;
    check!(now > last, "waiting workers are not woken");

    // A running attempt continues, and is not repeated.
    let one = claimed(&on.store).await?;
    let running = on.other.pause_task(task.id).await?;
    same!(
        (running.status, running.paused),
        (TaskStatus::InProgress, true)
    );
    let release = Release {
        reason: "the worker stops".to_owned(),
        usage: Usage::default(),
    };
    on.store.release(one.attempt, release).await?;
    same!(on.store.claim(any("w")).await?, None);
    on.store.resume_task(task.id).await?;
    let one = claimed(&on.store).await?;
    on.store.pause_task(task.id).await?;
    let done = finish(&on.store, &one, completed()).await?;
    check!(!done.paused, "an ended task waits for nothing");
    refusal(on.store.pause_task(task.id).await)?;
    check!(
        !on.store.retry(task.id, false).await?.paused,
        "who retries a task wants it to run"
    );
    claimed(&on.store).await?;
    Ok(())
}

pub(super) async fn paused_workers_claim_only_what_they_name(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    let root = "/home/me/other".into();
    let name = "other".to_owned();
    let other = on.store.add_project(NewProject { name, root }).await?;
    let in_other = add(&on.store, NewTask::new(other.id, "there")).await?;
    let pause = on
        .store
        .pause_workers(Some(task.project_id), "a".to_owned());
    let since = pause.await?.since;
    let again = on
        .other
        .pause_workers(Some(task.project_id), "b".to_owned());
    let again = again.await?;
    same!((again.reason.as_str(), again.since), ("b", since));
    same!(on.store.worker_pauses().await?, vec![again]);
    let one = claimed(&on.store).await?;
    same!(one.task.id, in_other.id, "only one project is paused");
    same!(on.store.claim(any("w")).await?, None);

    on.store.pause_workers(None, String::new()).await?;
    same!(on.store.worker_pauses().await?.len(), 2);
    check!(on.store.resume_workers(Some(task.project_id)).await?, "");
    check!(!on.store.resume_workers(Some(task.project_id)).await?, "");
    same!(on.other.claim(any("w")).await?, None, "all are paused");
    let named = Claim {
        task: Some(task.id),
        ..any("w")
    };
    check!(on.store.claim(named).await?.is_some(), "it is named");
    check!(on.store.resume_workers(None).await?, "it was paused");
    let missing = on
        .store
        .pause_workers(Some(ProjectId::from(99)), String::new())
        .await;
    check!(
        matches!(missing, Err(StoreError::NotFound { .. })),
        "{missing:?}"
    );
    refusal(on.store.pause_workers(None, "x".repeat(5_000)).await)?;
    Ok(())
}

pub(super) async fn all_tasks_are_cancelled_at_once(on: StoreUnderTest) -> CaseResult {
    let running = added(&on.store).await?;
    claimed(&on.store).await?;
    let mut waiting = NewTask::new(running.project_id, "waits");
    waiting.dependencies = vec![windlass_tasks::Dependency::Task(running.id)];
    let waiting = add(&on.store, waiting).await?;
    let root = "/home/me/other".into();
    let name = "other".to_owned();
    let other = on.store.add_project(NewProject { name, root }).await?;
    let elsewhere = add(&on.store, NewTask::new(other.id, "there")).await?;
    let cancelled = on.store.cancel_all(Some(running.project_id)).await?;
    let found: Vec<_> = cancelled
        .iter()
        .map(|task| (task.id, task.status))
        .collect();
    same!(
        found,
        vec![
            (running.id, TaskStatus::InProgress),
            (waiting.id, TaskStatus::Cancelled)
        ]
    );
    same!(
        on.store.task(elsewhere.id).await?.status,
        TaskStatus::Pending
    );
    let found = on.store.cancel_all(None).await?;
    same!(found.len(), 2, "the running one and the other project's");
    Ok(())
}

pub(super) async fn project_has_a_note(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?;
    same!(on.store.project_note(project.id).await?, "");
    on.store
        .set_project_note(project.id, "use tabs".to_owned())
        .await?;
    same!(on.other.project_note(project.id).await?, "use tabs");
    let long = "x".repeat(MAX_NOTE_BYTES + 1);
    refusal(on.store.set_project_note(project.id, long).await)?;
    same!(on.other.project_note(project.id).await?, "use tabs");
    let missing = on
        .store
        .set_project_note(ProjectId::from(99), String::new())
        .await;
    check!(
        matches!(missing, Err(StoreError::NotFound { .. })),
        "{missing:?}"
    );
    Ok(())
}
