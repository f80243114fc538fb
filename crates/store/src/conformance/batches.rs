//! Writes that wait together: a store may do them together, but each caller gets the result of its own.

use std::collections::BTreeSet;

use futures::future::join_all;
use windlass_core::Usage;
use windlass_tasks::{
    Broadcast, Claim, Claimed, Dependency, EventFilter, IssueId, NewIssue, NewTask, Outcome,
    ProjectId, StoreError, Task, TaskId, TaskStatus, WorkerKind,
};

use super::lifecycle::proof;
use super::promises::assert_superseded;
use super::{
    CaseFailure, CaseResult, StoreUnderTest, add, any, check, completed, failed, finish, project,
    same,
};

const WRITES: usize = 40;

fn new_task(on: windlass_tasks::ProjectId, at: usize) -> NewTask {
    NewTask {
        kind: WorkerKind::ALL[at % WorkerKind::ALL.len()],
        idempotency_key: at.is_multiple_of(2).then(|| format!("key {at}")),
        ..NewTask::new(on, format!("task {at}"))
    }
}

pub(super) async fn waiting_writes_each_get_their_own_result(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?.id;
    // From the second task on the store knows the project.
    add(&on.store, new_task(project, 0)).await?;
    let adds = (1..WRITES).map(|at| on.store.enqueue(vec![new_task(project, at)]));
    let mut ids = BTreeSet::new();
    for (at, added) in join_all(adds).await.into_iter().enumerate() {
        let added = added?;
        same!(added.len(), 1);
        let task = &added[0].task;
        same!(task.title, format!("task {}", at + 1));
        check!(added[0].fresh, "{} existed", task.title);
        same!(&on.other.task(task.id).await?, task);
        ids.insert(task.id);
    }
    same!(ids.len(), WRITES - 1, "two tasks have the same id");

    // One claim more than there are tasks.
    let claims = (0..=WRITES).map(|_| on.store.claim(any("a worker")));
    let mut claimed: Vec<Claimed> = Vec::new();
    for one in join_all(claims).await {
        claimed.extend(one?);
    }
    same!(claimed.len(), WRITES);
    for Claimed { task, .. } in &claimed {
        same!(task.status, TaskStatus::InProgress);
        same!(&on.other.task(task.id).await?, task);
        ids.insert(task.id);
    }
    same!(ids.len(), WRITES, "a task was claimed twice");

    let ends = claimed.iter().map(|one| {
        let outcome = Outcome::Completed {
            proof: None,
            branch: Some(format!("branch of {}", one.task.title)),
            output: format!("output of {}", one.task.title),
        };
        on.store.finish(one.attempt, outcome, Usage::default())
    });
    for (one, ended) in claimed.iter().zip(join_all(ends).await) {
        let ended = ended?;
        let title = &one.task.title;
        same!(ended.id, one.task.id);
        same!(ended.status, TaskStatus::Completed);
        same!(ended.output, Some(format!("output of {title}")));
        same!(ended.branch, Some(format!("branch of {title}")));
        same!(on.other.task(ended.id).await?, ended);
        check_events(&on, ended.id, ended.kind).await?;
    }
    Ok(())
}

/// Returns a task that has everything that a task without dependencies may have, but for labels.
fn full_task(project: ProjectId, issue: IssueId) -> NewTask {
    NewTask {
        issue_id: Some(issue),
        description: "with 'quotes', \"quotes\", $1 and \\ in it".to_owned(),
        priority: 4,
        workflow_step: 15,
        kind: WorkerKind::Test,
        agent: Some("codex".to_owned()),
        idempotency_key: Some("a key".to_owned()),
        max_attempts: 7,
        tests: vec!["sells \0 tea".to_owned(), "brews".to_owned()],
        edits_tests: true,
        land: true,
        target: Some("release".to_owned()),
        merges: true,
        ..NewTask::new(project, "sell tea")
    }
}

/// No other write waits, so a store may take a shorter way.
pub(super) async fn task_that_is_added_alone_is_returned_as_it_is_read(
    on: StoreUnderTest,
) -> CaseResult {
    let project = project(&on.store).await?.id;
    let issue = NewIssue {
        project_id: project,
        title: "open a shop".to_owned(),
        description: String::new(),
    };
    let issue = on.store.add_issue(issue).await?.id;
    let first = NewTask {
        issue_id: Some(issue),
        ..NewTask::new(project, "the store knows the project and the issue")
    };
    let mut last = add(&on.store, first).await?.id;
    let full = full_task(project, issue);
    let plain = NewTask::new(project, "buy tea");
    for new in [full.clone(), plain] {
        let added = on.store.enqueue(vec![new.clone()]).await?;
        check!(added[0].fresh, "{added:?}");
        let task = &added[0].task;
        check!(task.id > last, "{} after {last}", task.id);
        last = task.id;
        same!((&task.title, task.attempt), (&new.title, 0));
        same!(task.status, TaskStatus::Pending);
        same!((&task.tests, &task.target), (&new.tests, &new.target));
        same!(&on.other.task(task.id).await?, task);
        let filter = EventFilter {
            task_id: Some(task.id),
            ..EventFilter::default()
        };
        let events = on.other.events(filter).await?;
        same!(events.len(), 1);
        same!(events[0].at, task.created_at);
        same!(
            events[0].message,
            Broadcast::TaskStatus {
                project_id: project,
                task_id: task.id,
                status: TaskStatus::Pending,
                agent_id: "worker".to_owned(),
            }
        );
    }
    // The same request again, and another one with the same key.
    let again = on.store.enqueue(vec![full.clone()]).await?;
    check!(!again[0].fresh && again[0].task.id < last, "{again:?}");
    let other = NewTask {
        title: "sell coffee".to_owned(),
        ..full
    };
    let conflict = on.store.enqueue(vec![other]).await;
    check!(
        matches!(conflict, Err(StoreError::IdempotencyConflict { .. })),
        "{conflict:?}"
    );
    same!(on.other.events(EventFilter::default()).await?.len(), 3);
    Ok(())
}

/// How many attempts end, and how many tasks are claimed, together.
const EACH: usize = 6;

/// Ends attempts, the even ones with a proof, and claims as many tasks at the same time. Returns the completed tasks.
async fn end_and_claim(
    on: &StoreUnderTest,
    running: &mut Vec<Claimed>,
    claim: &Claim,
) -> Result<Vec<Task>, CaseFailure> {
    let output = |one: &Claimed| format!("output of {}", one.task.title);
    let ends = running.iter().enumerate().map(|(at, one)| {
        let outcome = Outcome::Completed {
            proof: at.is_multiple_of(2).then(|| Box::new(proof())),
            branch: Some(format!("branch of {}", one.task.title)),
            output: output(one),
        };
        on.store.finish(one.attempt, outcome, Usage::default())
    });
    let claims = (0..EACH).map(|_| on.store.claim(claim.clone()));
    let (ends, claims) = futures::future::join(join_all(ends), join_all(claims)).await;
    let mut ended = Vec::new();
    for (one, task) in running.iter().zip(ends) {
        let task = task?;
        same!((task.id, task.status), (one.task.id, TaskStatus::Completed));
        same!(task.output, Some(output(one)), "that of another attempt");
        ended.push(task);
    }
    running.clear();
    for claimed in claims {
        running.extend(claimed?);
    }
    same!(running.len(), EACH);
    running.sort_by_key(|claimed| claimed.task.id);
    for Claimed { task, attempt } in running {
        same!((task.status, task.attempt), (TaskStatus::InProgress, 1));
        same!((attempt.task, attempt.number), (task.id, 1));
        same!(&on.other.task(task.id).await?, task);
    }
    Ok(ended)
}

/// Checks what the store has of completed tasks.
async fn check_ended(on: &StoreUnderTest, ended: &[Task]) -> CaseResult {
    for (at, task) in ended.iter().enumerate() {
        same!(&on.other.task(task.id).await?, task);
        check_events(on, task.id, task.kind).await?;
        let attempts = on.other.attempts(task.id).await?;
        same!(attempts.len(), 1);
        check!(attempts[0].ended_at == task.completed_at, "{attempts:?}");
        let has_proof = (at % EACH).is_multiple_of(2);
        same!(on.other.proof(task.id).await?, has_proof.then(proof));
    }
    let unique: BTreeSet<TaskId> = ended.iter().map(|task| task.id).collect();
    same!(unique.len(), ended.len(), "a task was claimed twice");
    let events = on.other.events(EventFilter::default()).await?;
    let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
    let expected: Vec<u64> = (1..).take(seqs.len()).collect();
    same!(seqs, expected, "events are missing");
    Ok(())
}

/// A worker that ends an attempt claims the next task at the same time.
pub(super) async fn ends_and_claims_that_wait_together_each_get_their_own_result(
    on: StoreUnderTest,
) -> CaseResult {
    let project = project(&on.store).await?.id;
    let mut running: Vec<Claimed> = Vec::new();
    for at in 0..EACH {
        add(&on.store, new_task(project, at)).await?;
        running.extend(on.store.claim(any("a worker")).await?);
    }
    let dependent = NewTask {
        dependencies: vec![Dependency::Task(running[0].task.id)],
        priority: 4,
        ..NewTask::new(project, "waits for the first one")
    };
    let dependent = add(&on.store, dependent).await?;
    let mut ended: Vec<Task> = Vec::new();
    let mut number = EACH;
    for labels in [vec![], vec!["gpu".to_owned()]] {
        for project_id in [None, Some(project)] {
            for at in 0..EACH {
                let needs = labels.iter().filter(|_| at.is_multiple_of(2));
                let new = NewTask {
                    needs: needs.cloned().collect(),
                    ..new_task(project, number)
                };
                add(&on.store, new).await?;
                number += 1;
            }
            let claim = Claim {
                project_id,
                labels: labels.clone(),
                ..any("a worker")
            };
            ended.extend(end_and_claim(&on, &mut running, &claim).await?);
        }
    }
    check_ended(&on, &ended).await?;
    let dependent = on.other.task(dependent.id).await?;
    same!(
        (dependent.status, dependent.attempt),
        (TaskStatus::Pending, 0)
    );
    check_late_ends(&on, &running[0], &running[1]).await
}

/// Checks ends that come too late or again, with a claim beside them.
async fn check_late_ends(on: &StoreUnderTest, late: &Claimed, twice: &Claimed) -> CaseResult {
    // An attempt that was superseded changes nothing, and the claim is granted.
    finish(&on.store, late, failed(true)).await?;
    let claim = Claim {
        labels: vec!["gpu".to_owned()],
        ..any("a worker")
    };
    let end = on.store.finish(late.attempt, completed(), Usage::default());
    let (end, claimed) = futures::future::join(end, on.store.claim(claim)).await;
    assert_superseded(end)?;
    check!(claimed?.is_some(), "nothing was claimed");

    // A worker that repeats its end gets the same result, and the task is completed once.
    add(
        &on.store,
        NewTask::new(late.task.project_id, "for the claim"),
    )
    .await?;
    let ends = (0..EACH).map(|_| finish(&on.store, twice, completed()));
    let (ends, claimed) = futures::future::join(join_all(ends), on.store.claim(any("w"))).await;
    for end in ends {
        same!(end?.id, twice.task.id);
    }
    check!(claimed?.is_some(), "nothing was claimed");
    check_events(on, twice.task.id, twice.task.kind).await
}

/// Checks that a task was broadcast as added, claimed and completed, in this order.
async fn check_events(on: &StoreUnderTest, task: TaskId, kind: WorkerKind) -> CaseResult {
    let filter = EventFilter {
        task_id: Some(task),
        ..EventFilter::default()
    };
    let events = on.other.events(filter).await?;
    let statuses = events.into_iter().map(|event| match event.message {
        Broadcast::TaskStatus {
            status, agent_id, ..
        } => Ok((status, agent_id)),
        other => Err(CaseFailure::from(StoreError::Refused(format!("{other:?}")))),
    });
    let statuses: Vec<(TaskStatus, String)> = statuses.collect::<Result<_, _>>()?;
    let agent = kind.agent_id().to_owned();
    let expected = [
        (TaskStatus::Pending, "worker".to_owned()),
        (TaskStatus::InProgress, agent.clone()),
        (TaskStatus::Completed, agent),
    ];
    same!(statuses, expected);
    Ok(())
}

pub(super) async fn refused_write_does_not_disturb_those_that_wait_with_it(
    on: StoreUnderTest,
) -> CaseResult {
    let project = project(&on.store).await?.id;
    let first = add(&on.store, new_task(project, 0)).await?;
    let new = |at: usize| match at % 4 {
        // The same request again, another request with the same key, and text that PostgreSQL cannot store.
        1 => new_task(project, 0),
        2 => NewTask {
            title: "another".to_owned(),
            ..new_task(project, 0)
        },
        3 => NewTask::new(project, format!("task \0 {at}")),
        _ => NewTask::new(project, format!("task {at}")),
    };
    let adds = (0..WRITES).map(|at| on.store.enqueue(vec![new(at)]));
    for (at, added) in join_all(adds).await.into_iter().enumerate() {
        match at % 4 {
            1 => {
                let added = added?;
                same!((added[0].task.id, added[0].fresh), (first.id, false));
            }
            2 => check!(
                matches!(added, Err(StoreError::IdempotencyConflict { task, .. }) if task == first.id),
                "{added:?}"
            ),
            3 => same!(added?[0].task.title, format!("task \u{FFFD} {at}")),
            _ => same!(added?[0].task.title, format!("task {at}")),
        }
    }

    // Of two ends of the same attempt with different outcomes, one wins.
    let Some(one) = on.store.claim(any("a worker")).await? else {
        return super::fail_case("there was nothing to claim");
    };
    let (won, lost) = futures::future::join(
        super::finish(&on.store, &one, super::completed()),
        super::finish(&on.store, &one, super::failed(false)),
    )
    .await;
    check!(won.is_ok() != lost.is_ok(), "{won:?} and {lost:?}");
    Ok(())
}
