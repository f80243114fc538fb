//! Adds tasks: all or none, and one task per idempotency key.

use windlass_tasks::{
    ATTEMPT_LIMIT, Dependency, Enqueued, NewTask, StoreError, StoreResult, Task, TaskId, TaskStatus,
};

use super::{candidates, dependents, projects};
use crate::connection::DbConnection;
use crate::events::status;
use crate::sql::{Arg, Sql, args, json, sql};
use crate::task_row::{self, TaskRow, columns};

/// Maximum number of tasks in one batch.
const MAX_TASKS: usize = 1_000;
/// Maximum number of dependencies of one task.
const MAX_DEPENDENCIES: usize = 1_000;
/// Maximum size of a title and of a description.
const MAX_TITLE_BYTES: usize = 4 << 10;
const MAX_TEXT_BYTES: usize = 1 << 20;
/// Maximum size of an idempotency key.
const MAX_KEY_BYTES: usize = 512;
/// Maximum number of tests that a task names, and the maximum size of a name.
const MAX_TESTS: usize = 100;
const MAX_TEST_BYTES: usize = 1 << 10;
/// Maximum size of the name of a target branch.
const MAX_TARGET_BYTES: usize = 200;

/// Validates tasks, as far as possible without reading the store.
pub(crate) fn check(tasks: &[NewTask]) -> StoreResult<()> {
    if tasks.len() > MAX_TASKS {
        return rejected(format!(
            "{} tasks in one batch; the limit is {MAX_TASKS}",
            tasks.len()
        ));
    }
    for task in tasks {
        check_one(task, tasks.len())?;
        candidates::check(task)?;
    }
    match cycle(tasks) {
        Some(at) => rejected(format!(
            "the dependencies form a cycle through {:?}: remove one of them",
            tasks[at].title
        )),
        None => Ok(()),
    }
}

fn rejected<T>(why: String) -> StoreResult<T> {
    Err(StoreError::Refused(why))
}

fn check_one(task: &NewTask, batch: usize) -> StoreResult<()> {
    check_texts(task)?;
    check_numbers(task)?;
    check_dependencies(task, batch)
}

fn check_texts(task: &NewTask) -> StoreResult<()> {
    let title = &task.title;
    if title.trim().is_empty() {
        return rejected("a task needs a title".to_owned());
    }
    if title.len() > MAX_TITLE_BYTES {
        return rejected(format!(
            "the title has {} bytes; the limit is {MAX_TITLE_BYTES}: move text to the description",
            title.len()
        ));
    }
    if task.description.len() > MAX_TEXT_BYTES {
        return rejected(format!(
            "the description of {title:?} has {} bytes; the limit is {MAX_TEXT_BYTES}",
            task.description.len()
        ));
    }
    let has_long_name = || task.tests.iter().any(|name| name.len() > MAX_TEST_BYTES);
    if task.tests.len() > MAX_TESTS || has_long_name() {
        return rejected(format!(
            "{title:?} may name {MAX_TESTS} tests of {MAX_TEST_BYTES} bytes each"
        ));
    }
    if let Some(target) = &task.target
        && (target.is_empty() || target.len() > MAX_TARGET_BYTES)
    {
        return rejected(format!(
            "the target branch of {title:?} must have 1 to {MAX_TARGET_BYTES} bytes"
        ));
    }
    if task
        .idempotency_key
        .as_ref()
        .is_some_and(|key| key.is_empty() || key.len() > MAX_KEY_BYTES)
    {
        return rejected(format!(
            "an idempotency key must have 1 to {MAX_KEY_BYTES} bytes"
        ));
    }
    Ok(())
}

fn check_numbers(task: &NewTask) -> StoreResult<()> {
    let title = &task.title;
    if task.priority > 4 {
        return rejected(format!(
            "the priority of {title:?} is {}; it must be 0 (highest) to 4",
            task.priority
        ));
    }
    if !(1..=15).contains(&task.workflow_step) {
        return rejected(format!(
            "the workflow step of {title:?} is {}; it must be 1 to 15",
            task.workflow_step
        ));
    }
    if !(1..=ATTEMPT_LIMIT).contains(&task.max_attempts) {
        return rejected(format!(
            "the attempt limit of {title:?} is {}; it must be 1 to {ATTEMPT_LIMIT}",
            task.max_attempts
        ));
    }
    Ok(())
}

fn check_dependencies(task: &NewTask, batch: usize) -> StoreResult<()> {
    let title = &task.title;
    if task.dependencies.len() > MAX_DEPENDENCIES {
        return rejected(format!(
            "{title:?} depends on more than {MAX_DEPENDENCIES} tasks"
        ));
    }
    for dependency in &task.dependencies {
        if let Dependency::Sibling(at) = dependency
            && *at >= batch
        {
            return rejected(format!(
                "{title:?} depends on index {at} of a batch whose last index is {}",
                batch - 1
            ));
        }
    }
    Ok(())
}

/// Returns the index of a task that depends on itself through its siblings. Stored tasks cannot depend on new
/// ones, so no cycle leads through them.
fn cycle(tasks: &[NewTask]) -> Option<usize> {
    // Topological sort: counts the unmet siblings of each task and removes tasks without any.
    let siblings = |task: &NewTask| -> Vec<usize> {
        let sibling = |dependency: &Dependency| match dependency {
            Dependency::Sibling(at) => Some(*at),
            Dependency::Task(_) => None,
        };
        let mut siblings: Vec<usize> = task.dependencies.iter().filter_map(sibling).collect();
        siblings.sort_unstable();
        siblings.dedup();
        siblings
    };
    let mut unmet: Vec<usize> = Vec::with_capacity(tasks.len());
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
    for (at, task) in tasks.iter().enumerate() {
        let siblings = siblings(task);
        unmet.push(siblings.len());
        for on in siblings {
            dependents[on].push(at);
        }
    }
    let mut ready: Vec<usize> = (0..tasks.len()).filter(|at| unmet[*at] == 0).collect();
    while let Some(at) = ready.pop() {
        for waiting in std::mem::take(&mut dependents[at]) {
            unmet[waiting] -= 1;
            if unmet[waiting] == 0 {
                ready.push(waiting);
            }
        }
    }
    unmet.iter().position(|left| *left > 0)
}

/// Adds tasks. If `parents_known` is `true`, their projects and issues are not checked.
pub(crate) async fn enqueue(
    db: &mut DbConnection,
    tasks: &[NewTask],
    parents_known: bool,
) -> StoreResult<Vec<Enqueued>> {
    let mut known = (None, None);
    let mut added: Vec<Enqueued> = Vec::with_capacity(tasks.len());
    for new in tasks {
        if !parents_known && known != (Some(new.project_id), new.issue_id) {
            check_parents(db, new).await?;
            known = (Some(new.project_id), new.issue_id);
        }
        added.push(add(db, new).await?);
    }
    let ids: Vec<TaskId> = added.iter().map(|added| added.task.id).collect();
    let mut with_dependencies: Vec<TaskId> = Vec::new();
    for (new, added) in tasks.iter().zip(&added) {
        if added.fresh && !new.dependencies.is_empty() {
            insert_dependencies(db, added.task.id, &new.dependencies, &ids).await?;
            with_dependencies.push(added.task.id);
        }
    }
    for (new, added) in tasks.iter().zip(&added) {
        if added.fresh && new.best_of.is_some() {
            let parent = &added.task;
            with_dependencies.extend(add_candidates(db, new, parent, &ids).await?);
        }
    }
    for added in added.iter().filter(|added| added.fresh) {
        db.queue_event(status(&added.task, TaskStatus::Pending, "worker"));
    }
    if !with_dependencies.is_empty() {
        dependents::update_dependents(db, with_dependencies).await?;
        for added in &mut added {
            added.task = task_row::get(db, added.task.id).await?.task;
        }
    }
    Ok(added)
}

/// Adds the candidates of a task, with its dependencies. Returns them and the task.
async fn add_candidates(
    db: &mut DbConnection,
    new: &NewTask,
    parent: &Task,
    ids: &[TaskId],
) -> StoreResult<Vec<TaskId>> {
    candidates::mark_parent(db, parent, new).await?;
    let mut changed = vec![parent.id];
    for candidate in candidates::new_candidates(new) {
        let task = add(db, &candidate).await?.task;
        candidates::mark_candidate(db, task.id, parent.id).await?;
        insert_dependencies(db, task.id, &candidate.dependencies, ids).await?;
        db.queue_event(status(&task, TaskStatus::Pending, "worker"));
        changed.push(task.id);
    }
    Ok(changed)
}

async fn check_parents(db: &mut DbConnection, new: &NewTask) -> StoreResult<()> {
    projects::get_project(db, new.project_id).await?;
    if let Some(id) = new.issue_id {
        let issue = projects::get_issue(db, id).await?;
        if issue.project_id != new.project_id {
            return rejected(format!(
                "issue {id} belongs to project {}, not to {}",
                issue.project_id, new.project_id
            ));
        }
    }
    Ok(())
}

async fn add(db: &mut DbConnection, new: &NewTask) -> StoreResult<Enqueued> {
    const ADD: Sql = sql!(
        "INSERT INTO task (project_id, issue_id, title, description, status, priority, workflow_step, kind, agent, ",
        "idempotency_key, wish, max_attempts, tests, edits_tests, land, target, merges, created_at, updated_at) ",
        "VALUES ($1, $2, $3, $4, 'pending', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $17) ",
        "ON CONFLICT (idempotency_key) DO NOTHING RETURNING ",
        columns!()
    );
    let request = match new.idempotency_key {
        Some(_) => Some(json(new)?),
        None => None,
    };
    let tests = json(&new.tests)?;
    let values = args![
        new.project_id,
        new.issue_id,
        new.title.as_str(),
        new.description.as_str(),
        new.priority,
        new.workflow_step,
        new.kind.as_str(),
        new.agent.as_deref(),
        new.idempotency_key.as_deref(),
        request.as_deref(),
        new.max_attempts,
        tests.as_str(),
        new.edits_tests,
        new.land,
        new.target.as_deref(),
        new.merges,
        db.now(),
    ];
    match db.fetch_returning(ADD, values).await?.first() {
        Some(row) => Ok(Enqueued {
            task: task_row::from_row(row)?.task,
            fresh: true,
        }),
        None => find_by_key(db, new, request.as_deref()).await,
    }
}

/// Returns the existing task with this idempotency key, if it was requested with the same content.
async fn find_by_key(
    db: &mut DbConnection,
    new: &NewTask,
    request: Option<&str>,
) -> StoreResult<Enqueued> {
    const BY_KEY: Sql = sql!(
        "SELECT wish, ",
        columns!(),
        " FROM task WHERE idempotency_key = $1"
    );
    let key = new.idempotency_key.clone().unwrap_or_default();
    let Some(row) = db.fetch_optional(BY_KEY, args![key.as_str()]).await? else {
        return Err(StoreError::not_found("task with the key", key));
    };
    let TaskRow { task, .. } = task_row::from_row(&row)?;
    if row.opt_text("wish")?.as_deref() == request {
        Ok(Enqueued { task, fresh: false })
    } else {
        Err(StoreError::IdempotencyConflict { key, task: task.id })
    }
}

async fn insert_dependencies(
    db: &mut DbConnection,
    id: TaskId,
    dependencies: &[Dependency],
    batch: &[TaskId],
) -> StoreResult<()> {
    let mut on: Vec<TaskId> = dependencies
        .iter()
        .map(|dependency| match dependency {
            Dependency::Task(id) => *id,
            Dependency::Sibling(at) => batch[*at],
        })
        .collect();
    // A fixed order prevents deadlocks between concurrent transactions.
    on.sort_unstable();
    on.dedup();
    for on in on {
        link(db, id, on).await?;
    }
    Ok(())
}

/// Makes one task depend on another, and locks the other until the transaction ends.
pub(crate) async fn link(db: &mut DbConnection, id: TaskId, on: TaskId) -> StoreResult<Task> {
    const ADD: Sql = sql!(
        "INSERT INTO dependency (task_id, on_id) VALUES ($1, $2) ON CONFLICT (task_id, on_id) DO NOTHING"
    );
    let found = task_row::get_for_update(db, on).await?;
    let values: Vec<Arg> = args![id, on];
    db.execute(ADD, values).await?;
    Ok(found.task)
}

#[cfg(test)]
mod tests {
    use super::{check, cycle};
    use windlass_tasks::{Dependency, NewTask};

    fn task_after(siblings: &[usize]) -> NewTask {
        let mut task = NewTask::new(1, "a task");
        task.dependencies = siblings.iter().map(|at| Dependency::Sibling(*at)).collect();
        task
    }

    #[test]
    fn cycle_is_found_and_diamond_is_accepted() {
        let diamond = [
            task_after(&[]),
            task_after(&[0]),
            task_after(&[0, 0]),
            task_after(&[1, 2]),
        ];
        assert_eq!(cycle(&diamond), None);
        assert_eq!(cycle(&[task_after(&[0])]), Some(0));
        let cyclic = [
            task_after(&[]),
            task_after(&[0, 3]),
            task_after(&[1]),
            task_after(&[2]),
        ];
        assert_eq!(cycle(&cyclic), Some(1));
        let error = check(&cyclic).unwrap_err().to_string();
        assert!(error.contains("cycle"), "{error}");
    }

    #[test]
    fn invalid_task_is_rejected_with_reason() {
        let with = |change: fn(&mut NewTask)| {
            let mut task = NewTask::new(1, "a task");
            change(&mut task);
            check(&[task]).unwrap_err().to_string()
        };
        assert!(with(|task| task.priority = 5).contains("priority"));
        assert!(with(|task| task.workflow_step = 0).contains("workflow step"));
        assert!(with(|task| task.workflow_step = 16).contains("workflow step"));
        for message in [
            with(|task| task.max_attempts = 0),
            with(|task| task.max_attempts = 101),
            with(|task| task.max_attempts = u32::MAX),
        ] {
            assert!(message.contains("it must be 1 to 100"), "{message}");
        }
        assert!(with(|task| task.title = "  ".to_owned()).contains("title"));
        assert!(with(|task| task.dependencies = vec![Dependency::Sibling(1)]).contains("batch"));
        assert!(with(|task| task.description = "x".repeat(2 << 20)).contains("description"));
        assert!(with(|task| task.idempotency_key = Some(String::new())).contains("key"));
        assert_eq!(check(&[NewTask::new(1, "a task")]), Ok(()));
    }
}
