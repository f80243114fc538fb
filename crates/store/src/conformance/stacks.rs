//! Tasks that build on the changes of other tasks.

use windlass_tasks::{
    BasePart, Claim, Claimed, Dependency, NewTask, Outcome, Proof, Release, StoreError, TaskId,
    TaskStatus,
};

use super::lifecycle::proof;
use super::{
    CaseFailure, CaseResult, StoreUnderTest, add, any, check, claimed, fail_case, finish, project,
    same,
};

fn commit(digit: char) -> String {
    String::from(digit).repeat(40)
}

fn part(task: TaskId, digit: char) -> BasePart {
    BasePart {
        task,
        commit: commit(digit),
    }
}

/// An outcome with this commit, on a base with these parts.
fn proved(digit: char, base_parts: Vec<BasePart>) -> Outcome {
    let proof = Proof {
        commit: commit(digit),
        base_parts,
        warnings: Vec::new(),
        ..proof()
    };
    Outcome::Completed {
        proof: Some(Box::new(proof)),
        branch: Some("windlass/task".to_owned()),
        output: "done".to_owned(),
    }
}

/// Adds tasks, each of which depends on these earlier ones.
async fn chain(on: &StoreUnderTest, needs: &[&[usize]]) -> Result<Vec<TaskId>, CaseFailure> {
    let project = project(&on.store).await?.id;
    let batch = needs.iter().enumerate().map(|(at, needs)| NewTask {
        dependencies: needs.iter().map(|at| Dependency::Sibling(*at)).collect(),
        ..NewTask::new(project, format!("task {at}"))
    });
    let added = on.store.enqueue(batch.collect()).await?;
    Ok(added.into_iter().map(|added| added.task.id).collect())
}

async fn claim_task(on: &StoreUnderTest, task: TaskId) -> Result<Claimed, CaseFailure> {
    let this = Claim {
        task: Some(task),
        ..any("w")
    };
    match on.store.claim(this).await? {
        Some(claimed) => Ok(claimed),
        None => fail_case(format!("task {task} cannot be claimed")),
    }
}

async fn complete(on: &StoreUnderTest, task: TaskId, outcome: Outcome) -> CaseResult {
    let claimed = claim_task(on, task).await?;
    finish(&on.store, &claimed, outcome).await?;
    Ok(())
}

async fn states(
    on: &StoreUnderTest,
    tasks: &[TaskId],
) -> Result<Vec<(TaskStatus, bool)>, CaseFailure> {
    let mut states = Vec::new();
    for id in tasks {
        let task = on.store.task(*id).await?;
        states.push((task.status, task.outdated));
    }
    Ok(states)
}

const COMPLETED: (TaskStatus, bool) = (TaskStatus::Completed, false);
const OUTDATED: (TaskStatus, bool) = (TaskStatus::Pending, true);

pub(super) async fn base_of_an_attempt_is_recorded(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?.id;
    let mut new = NewTask::new(project, "for a branch");
    new.target = Some("release".to_owned());
    let task = add(&on.store, new).await?;
    same!(task.target.as_deref(), Some("release"));
    check!(!task.outdated && !task.merges, "{task:?}");
    let one = claimed(&on.store).await?;
    let parts = vec![part(TaskId::from(7), '7'), part(TaskId::from(3), '3')];
    let record = |at| on.store.record_base(at, commit('b'), parts.clone());
    record(one.attempt).await?;
    record(one.attempt).await?;
    let attempts = on.store.attempts(task.id).await?;
    same!(attempts[0].base, Some(commit('b')));
    same!(attempts[0].base_parts, parts);
    let release = Release {
        reason: "later".to_owned(),
        usage: windlass_core::Usage::default(),
    };
    on.store.release(one.attempt, release).await?;
    let late = record(one.attempt).await;
    check!(
        late.as_ref().is_err_and(StoreError::is_superseded),
        "{late:?}"
    );
    Ok(())
}

pub(super) async fn changes_of_dependencies_are_in_order(on: StoreUnderTest) -> CaseResult {
    // A diamond; its bottom also depends on the top.
    let tasks = chain(&on, &[&[], &[0], &[0], &[0, 1, 2]]).await?;
    let [top, left, right, bottom] = tasks[..] else {
        return fail_case("expected four tasks");
    };
    complete(&on, top, proved('1', vec![])).await?;
    complete(&on, right, proved('3', vec![part(top, '1')])).await?;
    let changes = on.store.dependency_changes(bottom).await?;
    let found: Vec<_> = changes
        .iter()
        .map(|change| (change.task, change.completed, change.commit.clone()))
        .collect();
    let wanted = vec![
        (top, true, Some(commit('1'))),
        (left, false, None),
        (right, true, Some(commit('3'))),
    ];
    same!(found, wanted);
    same!(changes[0].branch.as_deref(), Some("windlass/task"));
    same!(on.store.dependency_changes(top).await?, vec![]);
    // A task that is worked on again keeps its commit until it has another one.
    on.store.retry(right, false).await?;
    let changes = on.store.dependency_changes(bottom).await?;
    same!(changes[2].completed, false);
    same!(changes[2].commit, Some(commit('3')));
    Ok(())
}

pub(super) async fn replaced_change_makes_dependants_outdated(on: StoreUnderTest) -> CaseResult {
    let tasks = chain(&on, &[&[], &[0], &[1], &[]]).await?;
    let [first, second, third, other] = tasks[..] else {
        return fail_case("expected four tasks");
    };
    complete(&on, first, proved('1', vec![])).await?;
    complete(&on, second, proved('2', vec![part(first, '1')])).await?;
    let both = vec![part(first, '1'), part(second, '2')];
    complete(&on, third, proved('3', both)).await?;
    complete(&on, other, proved('4', vec![])).await?;
    same!(states(&on, &tasks).await?, vec![COMPLETED; 4]);

    // The same commit again replaces nothing.
    on.store.retry(first, false).await?;
    complete(&on, first, proved('1', vec![])).await?;
    same!(states(&on, &tasks).await?, vec![COMPLETED; 4]);

    on.store.retry(first, false).await?;
    complete(&on, first, proved('a', vec![])).await?;
    same!(
        states(&on, &tasks).await?,
        vec![COMPLETED, OUTDATED, OUTDATED, COMPLETED]
    );
    let task = on.store.task(second).await?;
    let why = task.output.unwrap_or_default();
    check!(why.contains(&format!("task {first}")), "{why}");
    let this = Claim {
        task: Some(third),
        ..any("w")
    };
    same!(
        on.store.claim(this).await?,
        None,
        "it waits for the one below"
    );
    let again = claim_task(&on, second).await?;
    check!(again.task.outdated, "{:?}", again.task);
    finish(&on.store, &again, proved('b', vec![part(first, 'a')])).await?;
    let both = vec![part(first, 'a'), part(second, 'b')];
    complete(&on, third, proved('c', both)).await?;
    same!(states(&on, &tasks).await?, vec![COMPLETED; 4]);
    Ok(())
}

pub(super) async fn base_that_is_replaced_during_an_attempt_is_noticed(
    on: StoreUnderTest,
) -> CaseResult {
    let tasks = chain(&on, &[&[], &[0]]).await?;
    let (first, second) = (tasks[0], tasks[1]);
    complete(&on, first, proved('1', vec![])).await?;
    let running = claim_task(&on, second).await?;
    on.store.retry(first, false).await?;
    complete(&on, first, proved('2', vec![])).await?;
    let outcome = proved('3', vec![part(first, '1')]);
    finish(&on.store, &running, outcome.clone()).await?;
    same!(states(&on, &tasks).await?, vec![COMPLETED, OUTDATED]);
    // The answer may be lost: the repeated call changes nothing.
    finish(&on.store, &running, outcome).await?;
    same!(states(&on, &tasks).await?, vec![COMPLETED, OUTDATED]);
    Ok(())
}

pub(super) async fn released_task_waits_for_a_dependency_that_was_reset(
    on: StoreUnderTest,
) -> CaseResult {
    let tasks = chain(&on, &[&[], &[0]]).await?;
    complete(&on, tasks[0], proved('1', vec![])).await?;
    let running = claim_task(&on, tasks[1]).await?;
    on.store.retry(tasks[0], false).await?;
    let release = Release {
        reason: "the dependency is worked on again".to_owned(),
        usage: windlass_core::Usage::default(),
    };
    on.store.release(running.attempt, release).await?;
    let next = claimed(&on.store).await?;
    same!(next.task.id, tasks[0]);
    same!(on.store.claim(any("w")).await?, None);
    Ok(())
}

pub(super) async fn conflicting_dependencies_are_merged_by_one_task(
    on: StoreUnderTest,
) -> CaseResult {
    let tasks = chain(&on, &[&[], &[], &[0, 1], &[0, 1]]).await?;
    let [left, right, one, two] = tasks[..] else {
        return fail_case("expected four tasks");
    };
    complete(&on, left, proved('1', vec![])).await?;
    complete(&on, right, proved('2', vec![])).await?;
    let project = on.store.task(one).await?.project_id;
    let merge = NewTask {
        dependencies: vec![Dependency::Task(left), Dependency::Task(right)],
        idempotency_key: Some("merge 1 2".to_owned()),
        merges: true,
        ..NewTask::new(project, "Merge the changes")
    };
    let first = claim_task(&on, one).await?;
    let second = claim_task(&on, two).await?;
    let added = on
        .store
        .wait_for_merge(first.attempt, merge.clone())
        .await?;
    check!(added.merges, "{added:?}");
    same!(added.dependencies, vec![left, right]);
    let again = on.other.wait_for_merge(second.attempt, merge.clone()).await;
    same!(again?.id, added.id, "the same changes are merged once");
    for id in [one, two] {
        let task = on.store.task(id).await?;
        same!(task.dependencies, vec![added.id]);
        same!(task.status, TaskStatus::Pending);
    }
    let late = on.store.wait_for_merge(first.attempt, merge.clone()).await;
    check!(
        late.as_ref().is_err_and(StoreError::is_superseded),
        "{late:?}"
    );
    let next = claimed(&on.store).await?;
    same!(next.task.id, added.id, "the others wait for it");
    let parts = vec![part(left, '1'), part(right, '2')];
    finish(&on.store, &next, proved('3', parts)).await?;
    // If it still conflicts, no further task is added.
    let first = claim_task(&on, one).await?;
    let refused = on.store.wait_for_merge(first.attempt, merge).await;
    check!(
        matches!(refused, Err(StoreError::Refused(_))),
        "{refused:?}"
    );
    same!(on.store.task(one).await?.status, TaskStatus::InProgress);
    Ok(())
}

pub(super) async fn dependency_that_conflicts_with_its_target_is_outdated(
    on: StoreUnderTest,
) -> CaseResult {
    let tasks = chain(&on, &[&[], &[0], &[0]]).await?;
    let [first, second, third] = tasks[..] else {
        return fail_case("expected three tasks");
    };
    complete(&on, first, proved('1', vec![])).await?;
    complete(&on, second, proved('2', vec![part(first, '1')])).await?;
    let running = claim_task(&on, third).await?;
    let why = "it conflicts with main".to_owned();
    let update = on.store.wait_for_update(running.attempt, first, why);
    check!(update.await?.outdated, "the dependency is outdated");
    let waiting = (TaskStatus::Pending, false);
    same!(
        states(&on, &tasks).await?,
        vec![OUTDATED, OUTDATED, waiting]
    );
    let next = claimed(&on.store).await?;
    same!(next.task.id, first);
    same!(on.store.claim(any("w")).await?, None);
    finish(&on.store, &next, proved('a', vec![])).await?;
    complete(&on, third, proved('3', vec![part(first, 'a')])).await?;
    same!(
        states(&on, &tasks).await?,
        vec![COMPLETED, OUTDATED, COMPLETED]
    );
    Ok(())
}
