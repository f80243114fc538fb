//! The lifecycle of a task with one worker.

use windlass_core::Usage;
use windlass_tasks::{
    ApprovalId, BlockerId, Claim, Dependency, IssueId, NewIssue, NewTask, Outcome, ProjectId,
    Proof, Release, StoreError, TaskFilter, TaskId, TaskStatus, TestCounts, Warning, WarningKind,
    WorkerKind,
};

use super::{
    CaseResult, StoreUnderTest, add, added, any, check, claimed, completed, failed, finish,
    project, same,
};

pub(super) async fn task_fields_round_trip(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?;
    same!(on.store.project(project.id).await?, project);
    same!(on.store.projects().await?, vec![project.clone()]);
    let issue = NewIssue {
        project_id: project.id,
        title: "open a shop".to_owned(),
        description: "with \"quotes\", \u{1F375} and 'apostrophes'".to_owned(),
    };
    let issue = on.store.add_issue(issue).await?;
    same!(on.store.issue(issue.id).await?, issue);
    let new = NewTask {
        issue_id: Some(issue.id),
        description: "long\nlines; DROP TABLE task; -- \u{202E}".to_owned(),
        priority: 0,
        workflow_step: 15,
        kind: WorkerKind::Frontend,
        agent: Some("codex".to_owned()),
        idempotency_key: Some("k".to_owned()),
        max_attempts: 7,
        ..NewTask::new(project.id, "sell tea")
    };
    let task = add(&on.store, new.clone()).await?;
    same!(task.project_id, project.id);
    same!(task.issue_id, Some(issue.id));
    same!(task.title, new.title);
    same!(task.description, new.description);
    same!(task.status, TaskStatus::Pending);
    same!((task.priority, task.workflow_step), (0, 15));
    same!(task.kind, WorkerKind::Frontend);
    same!(task.agent, new.agent);
    same!(task.idempotency_key, new.idempotency_key);
    same!((task.attempt, task.max_attempts), (0, 7));
    same!((task.completed_at, task.output.as_deref()), (None, None));
    same!(on.store.task(task.id).await?, task);
    // PostgreSQL rejects NUL, so both stores replace it.
    let nul = add(&on.store, NewTask::new(project.id, "a\0b")).await?;
    same!(nul.title, "a\u{FFFD}b");

    let listed = |filter| on.store.tasks(filter);
    same!(listed(TaskFilter::default()).await?.len(), 2);
    let of_issue = TaskFilter {
        issue_id: Some(issue.id),
        ..TaskFilter::default()
    };
    same!(listed(of_issue).await?, vec![task.clone()]);
    let after = TaskFilter {
        after: Some(task.id),
        status: Some(TaskStatus::Pending),
        project_id: Some(project.id),
        limit: 1,
        ..TaskFilter::default()
    };
    same!(listed(after).await?, vec![nul]);
    let completed = TaskFilter {
        status: Some(TaskStatus::Completed),
        ..TaskFilter::default()
    };
    same!(listed(completed).await?, vec![]);
    Ok(())
}

pub(super) async fn invalid_task_is_rejected(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?;
    let valid = || NewTask::new(project.id, "sell tea");
    let invalid = [
        NewTask {
            priority: 5,
            ..valid()
        },
        NewTask {
            workflow_step: 0,
            ..valid()
        },
        NewTask {
            workflow_step: 16,
            ..valid()
        },
        NewTask {
            max_attempts: 0,
            ..valid()
        },
        NewTask {
            max_attempts: u32::MAX,
            ..valid()
        },
        NewTask {
            title: String::new(),
            ..valid()
        },
    ];
    for new in invalid {
        // One invalid task rejects the whole batch.
        let result = on.store.enqueue(vec![valid(), new.clone()]).await;
        check!(
            matches!(result, Err(StoreError::Refused(_))),
            "{new:?} gave {result:?}"
        );
    }
    let unknown_project = NewTask {
        project_id: ProjectId::from(999),
        ..valid()
    };
    let waits = NewTask {
        dependencies: vec![Dependency::Task(TaskId::from(999))],
        ..valid()
    };
    for new in [unknown_project, waits] {
        let result = on.store.enqueue(vec![valid(), new]).await;
        check!(
            matches!(result, Err(StoreError::NotFound { .. })),
            "{result:?}"
        );
    }
    same!(
        on.store.tasks(TaskFilter::default()).await?,
        vec![],
        "all or none"
    );
    Ok(())
}

pub(super) async fn missing_records_return_not_found(on: StoreUnderTest) -> CaseResult {
    let store = &on.store;
    let (task, blocker) = (TaskId::from(7), BlockerId::from(7));
    let text = "green".to_owned();
    let errors = [
        store.task(task).await.err(),
        store.project(ProjectId::from(7)).await.err(),
        store.issue(IssueId::from(7)).await.err(),
        store.cancel(task).await.err(),
        store.retry(task, false).await.err(),
        store.proof(task).await.err(),
        store.test_results(task).await.err(),
        store.approval(ApprovalId::from(7)).await.err(),
        store.answer_blocker(blocker, text).await.err(),
        store.trace("7".to_owned()).await.err(),
        store.add_dependency(task, TaskId::from(8)).await.err(),
    ];
    for error in errors {
        check!(
            matches!(error, Some(StoreError::NotFound { .. })),
            "{error:?}"
        );
    }
    same!(store.claim(any("a worker")).await?, None);
    same!(store.reclaim_expired().await?, vec![]);
    Ok(())
}

pub(super) async fn claim_follows_priority_step_and_id(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?;
    // Priority first, then step, then age. The tasks are added in a different order.
    let wanted = [
        (0, 1),
        (0, 2),
        (0, 2),
        (0, 15),
        (1, 1),
        (2, 3),
        (2, 3),
        (4, 1),
        (4, 15),
    ];
    let mixed = [4, 8, 0, 6, 2, 5, 1, 7, 3];
    for at in mixed {
        let (priority, workflow_step) = wanted[at];
        let new = NewTask {
            priority,
            workflow_step,
            ..NewTask::new(project.id, "a task")
        };
        add(&on.store, new).await?;
    }
    let mut last = None;
    for (at, step) in wanted.into_iter().enumerate() {
        let task = claimed(&on.store).await?.task;
        same!((task.priority, task.workflow_step), step, "number {at}");
        if at > 0 && wanted[at - 1] == step {
            let is_newer = Some(task.id) > last;
            check!(is_newer, "the older of two equal tasks comes first");
        }
        last = Some(task.id);
    }
    same!(on.store.claim(any("a worker")).await?, None);
    Ok(())
}

pub(super) async fn claim_respects_filters(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?;
    let new = |kind| NewTask {
        kind,
        ..NewTask::new(project.id, "a task")
    };
    let backend = add(&on.store, new(WorkerKind::Backend)).await?;
    let test = add(&on.store, new(WorkerKind::Test)).await?;
    let second = add(&on.store, new(WorkerKind::Backend)).await?;

    let elsewhere = Claim {
        project_id: Some(ProjectId::from(project.id.get() + 1)),
        ..any("w")
    };
    same!(on.store.claim(elsewhere).await?, None);
    let kinds = vec![WorkerKind::Frontend, WorkerKind::Test];
    let testers = Claim {
        kinds,
        project_id: Some(project.id),
        ..any("w")
    };
    let got = on.store.claim(testers.clone()).await?;
    same!(got.map(|got| got.task.id), Some(test.id));
    same!(on.store.claim(testers).await?, None);
    let this = Claim {
        task: Some(second.id),
        ..any("w")
    };
    let got = on.store.claim(this.clone()).await?;
    same!(got.map(|got| got.task.id), Some(second.id));
    same!(on.store.claim(this).await?, None);
    same!(claimed(&on.store).await?.task.id, backend.id);
    Ok(())
}

pub(super) async fn task_fails_after_last_attempt(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?;
    let new = NewTask {
        max_attempts: 2,
        ..NewTask::new(project.id, "a task")
    };
    let task = add(&on.store, new).await?;

    let first = claimed(&on.store).await?;
    same!((first.attempt.task, first.attempt.number), (task.id, 1));
    same!(first.task.status, TaskStatus::InProgress);
    let task = finish(&on.store, &first, failed(true)).await?;
    same!(
        (task.status, task.output.as_deref()),
        (TaskStatus::Pending, Some("it broke"))
    );
    let second = claimed(&on.store).await?;
    same!(second.attempt.number, 2);
    let task = finish(&on.store, &second, failed(true)).await?;
    same!(task.status, TaskStatus::Failed, "no attempt is left");
    same!(task.completed_at, None);
    same!(on.store.claim(any("w")).await?, None);

    let task = on.store.retry(task.id, false).await?;
    same!(
        (task.status, task.attempt),
        (TaskStatus::Pending, 2),
        "the attempt number only grows"
    );
    let third = claimed(&on.store).await?;
    same!(third.attempt.number, 3);
    same!(
        finish(&on.store, &third, failed(true)).await?.status,
        TaskStatus::Pending
    );
    let fourth = claimed(&on.store).await?;
    same!(
        finish(&on.store, &fourth, failed(false)).await?.status,
        TaskStatus::Failed
    );
    let result = on.store.cancel(task.id).await;
    check!(matches!(result, Err(StoreError::Refused(_))), "{result:?}");
    Ok(())
}

pub(super) async fn p7_released_attempt_is_not_counted(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?;
    let new = NewTask {
        max_attempts: 1,
        ..NewTask::new(project.id, "a task")
    };
    let task = add(&on.store, new).await?;
    for number in 1..=5 {
        let one = claimed(&on.store).await?;
        same!(one.attempt.number, number);
        let release = Release {
            reason: "the worker stops".to_owned(),
            usage: Usage::default(),
        };
        on.store.release(one.attempt, release.clone()).await?;
        let now = on.store.task(task.id).await?;
        same!(
            (now.status, now.output.as_deref()),
            (TaskStatus::Pending, Some("the worker stops"))
        );
        let late = on.store.release(one.attempt, release).await;
        check!(
            late.as_ref().is_err_and(StoreError::is_superseded),
            "{late:?}"
        );
    }
    let last = claimed(&on.store).await?;
    same!(
        finish(&on.store, &last, failed(true)).await?.status,
        TaskStatus::Failed
    );
    Ok(())
}

pub(super) fn proof() -> Proof {
    Proof {
        base: "b".repeat(40),
        base_parts: Vec::new(),
        commit: "c".repeat(40),
        tree: "d".repeat(40),
        command: vec!["cargo".to_owned(), "test".to_owned()],
        part: None,
        exit_code: 0,
        counts: TestCounts {
            passed: 3,
            failed: 0,
            errors: 0,
            total: 3,
        },
        log_sha256: "e".repeat(64),
        duration_ms: 12,
        setup: Vec::new(),
        cases: None,
        baseline: None,
        base_tests: None,
        warnings: vec![Warning::new(
            WarningKind::RemovedTests,
            "a test was emptied",
        )],
        lines: Some(7),
        at: windlass_core::Timestamp(1),
    }
}

pub(super) async fn completed_task_has_time_and_proof(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    same!(on.store.proof(task.id).await?, None);
    let one = claimed(&on.store).await?;
    let outcome = Outcome::Completed {
        proof: Some(Box::new(proof())),
        branch: Some("windlass/task-1".to_owned()),
        output: "tea is sold".to_owned(),
    };
    let task = finish(&on.store, &one, outcome).await?;
    same!(task.status, TaskStatus::Completed);
    same!(task.output.as_deref(), Some("tea is sold"));
    same!(task.branch.as_deref(), Some("windlass/task-1"));
    check!(task.completed_at.is_some() && !task.unverified, "{task:?}");
    same!(on.store.proof(task.id).await?, Some(proof()));

    // After a retry the task is no longer completed and has no proof.
    let task = on.store.retry(task.id, false).await?;
    same!(
        (task.status, task.completed_at),
        (TaskStatus::Pending, None)
    );
    same!(on.store.proof(task.id).await?, None);
    let again = claimed(&on.store).await?;
    let task = finish(&on.store, &again, completed()).await?;
    check!(task.unverified, "without a proof it is unverified");
    same!(on.store.proof(task.id).await?, None);
    Ok(())
}

pub(super) async fn usage_is_summed_over_attempts(on: StoreUnderTest) -> CaseResult {
    let task = added(&on.store).await?;
    let used = |input_tokens| Usage {
        input_tokens,
        cost_usd: Some(0.25),
        ..Usage::default()
    };
    let first = claimed(&on.store).await?;
    on.store
        .finish(first.attempt, failed(true), used(3))
        .await?;
    let second = claimed(&on.store).await?;
    let release = Release {
        reason: "later".to_owned(),
        usage: used(4),
    };
    on.store.release(second.attempt, release).await?;
    let third = claimed(&on.store).await?;
    let task_now = on.store.finish(third.attempt, completed(), used(5)).await?;
    same!(task_now.usage.input_tokens, 12);
    same!(task_now.usage.cost_usd, Some(0.75));
    same!(on.store.task(task.id).await?.usage, task_now.usage);
    Ok(())
}
