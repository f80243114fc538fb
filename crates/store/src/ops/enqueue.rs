//! Adding tasks: all or none, and the same one twice is once.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use windlass_core::task::{
    Dependency, Enqueued, IssueId, NewTask, ProjectId, StoreError, StoreResult, Task, TaskId,
    TaskStatus,
};

use super::{dependents, projects};
use crate::connection::DbConnection;
use crate::events::status;
use crate::sql::{Arg, Sql, args, json, sql};
use crate::task_row::{self, TaskRow, columns};

/// The tasks that may be added at once.
const MAX_TASKS: usize = 1_000;
/// The tasks that one may wait for.
const MAX_DEPENDENCIES: usize = 1_000;
/// The longest title and the longest description.
const MAX_TITLE_BYTES: usize = 4 << 10;
const MAX_TEXT_BYTES: usize = 1 << 20;
/// The longest idempotency key.
const MAX_KEY_BYTES: usize = 512;

/// Whether these tasks can be added at all, as far as they themselves can tell.
pub(crate) fn check(tasks: &[NewTask]) -> StoreResult<()> {
    if tasks.len() > MAX_TASKS {
        return rejected(format!(
            "{} tasks at once are more than {MAX_TASKS}",
            tasks.len()
        ));
    }
    for task in tasks {
        check_one(task, tasks.len())?;
    }
    match cycle(tasks) {
        Some(at) => rejected(format!(
            "the tasks wait for each other in a circle, {:?} among them: leave one dependency out",
            tasks[at].title
        )),
        None => Ok(()),
    }
}

fn rejected<T>(why: String) -> StoreResult<T> {
    Err(StoreError::Refused(why))
}

fn check_one(task: &NewTask, batch: usize) -> StoreResult<()> {
    let title = &task.title;
    if title.trim().is_empty() {
        return rejected("a task needs a title".to_owned());
    }
    if title.len() > MAX_TITLE_BYTES {
        return rejected(format!(
            "a title of {} bytes is longer than {MAX_TITLE_BYTES}: put it into the description",
            title.len()
        ));
    }
    if task.description.len() > MAX_TEXT_BYTES {
        return rejected(format!(
            "the description of {title:?} has {} bytes; {MAX_TEXT_BYTES} are kept",
            task.description.len()
        ));
    }
    if task.priority > 4 {
        return rejected(format!(
            "the priority of {title:?} is {}; it goes from 0, the highest, to 4",
            task.priority
        ));
    }
    if !(1..=15).contains(&task.workflow_step) {
        return rejected(format!(
            "the workflow step of {title:?} is {}; it goes from 1 to 15",
            task.workflow_step
        ));
    }
    if task.max_attempts == 0 {
        return rejected(format!(
            "{title:?} is given no attempt: it needs one at least"
        ));
    }
    if task.dependencies.len() > MAX_DEPENDENCIES {
        return rejected(format!(
            "{title:?} waits for more than {MAX_DEPENDENCIES} tasks"
        ));
    }
    if task
        .idempotency_key
        .as_ref()
        .is_some_and(|key| key.is_empty() || key.len() > MAX_KEY_BYTES)
    {
        return rejected(format!("an idempotency key has 1 to {MAX_KEY_BYTES} bytes"));
    }
    for dependency in &task.dependencies {
        if let Dependency::Sibling(at) = dependency
            && *at >= batch
        {
            return rejected(format!(
                "{title:?} waits for number {at} of a batch that ends at {}",
                batch - 1
            ));
        }
    }
    Ok(())
}

/// A task that waits for itself through its siblings. Those in the store know none of these yet, so no circle can go
/// through them.
fn cycle(tasks: &[NewTask]) -> Option<usize> {
    // How many siblings each still waits for; whoever waits for none is done, and done are those it kept waiting.
    let siblings = |task: &NewTask| -> Vec<usize> {
        let of = |dependency: &Dependency| match dependency {
            Dependency::Sibling(at) => Some(*at),
            Dependency::Task(_) => None,
        };
        let mut siblings: Vec<usize> = task.dependencies.iter().filter_map(of).collect();
        siblings.sort_unstable();
        siblings.dedup();
        siblings
    };
    let mut waits: Vec<usize> = Vec::with_capacity(tasks.len());
    let mut keeps: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
    for (at, task) in tasks.iter().enumerate() {
        let siblings = siblings(task);
        waits.push(siblings.len());
        for on in siblings {
            keeps[on].push(at);
        }
    }
    let mut free: Vec<usize> = (0..tasks.len()).filter(|at| waits[*at] == 0).collect();
    while let Some(at) = free.pop() {
        for waiting in std::mem::take(&mut keeps[at]) {
            waits[waiting] -= 1;
            if waits[waiting] == 0 {
                free.push(waiting);
            }
        }
    }
    waits.iter().position(|left| *left > 0)
}

/// Where tasks may live, as far as is known: projects and issues never go away, so one look is enough.
#[derive(Debug, Default)]
pub(crate) struct KnownParents(Mutex<HashSet<(ProjectId, Option<IssueId>)>>);

impl KnownParents {
    /// As many as are remembered.
    const MAX_KNOWN: usize = 10_000;

    /// Whether the homes of all these tasks are known to be there.
    pub(crate) fn contains_all(&self, tasks: &[NewTask]) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tasks
            .iter()
            .all(|new| known.contains(&(new.project_id, new.issue_id)))
    }

    /// Learns from tasks that are in the store.
    pub(crate) fn insert(&self, added: &[Enqueued]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() > Self::MAX_KNOWN {
            known.clear();
        }
        known.extend(
            added
                .iter()
                .map(|added| (added.task.project_id, added.task.issue_id)),
        );
    }
}

/// Adds tasks, whose homes need no look if they are known.
pub(crate) async fn enqueue(
    s: &mut DbConnection,
    tasks: &[NewTask],
    at_home: bool,
) -> StoreResult<Vec<Enqueued>> {
    let mut known = (None, None);
    let mut added: Vec<Enqueued> = Vec::with_capacity(tasks.len());
    for new in tasks {
        if !at_home && known != (Some(new.project_id), new.issue_id) {
            check_parents(s, new).await?;
            known = (Some(new.project_id), new.issue_id);
        }
        added.push(add(s, new).await?);
    }
    let ids: Vec<TaskId> = added.iter().map(|added| added.task.id).collect();
    let mut depend: Vec<TaskId> = Vec::new();
    for (new, added) in tasks.iter().zip(&added) {
        if added.fresh && !new.dependencies.is_empty() {
            insert_dependencies(s, added.task.id, &new.dependencies, &ids).await?;
            depend.push(added.task.id);
        }
    }
    for added in added.iter().filter(|added| added.fresh) {
        s.queue_event(status(&added.task, TaskStatus::Pending, "worker"));
    }
    if !depend.is_empty() {
        dependents::update_dependents(s, depend).await?;
        for added in &mut added {
            added.task = task_row::get(s, added.task.id).await?.task;
        }
    }
    Ok(added)
}

async fn check_parents(s: &mut DbConnection, new: &NewTask) -> StoreResult<()> {
    projects::get_project(s, new.project_id).await?;
    if let Some(id) = new.issue_id {
        let issue = projects::get_issue(s, id).await?;
        if issue.project_id != new.project_id {
            return rejected(format!(
                "issue {id} belongs to project {}, not to {}",
                issue.project_id, new.project_id
            ));
        }
    }
    Ok(())
}

async fn add(s: &mut DbConnection, new: &NewTask) -> StoreResult<Enqueued> {
    const ADD: Sql = sql!(
        "INSERT INTO task (project_id, issue_id, title, description, status, priority, workflow_step, kind, agent, ",
        "idempotency_key, wish, max_attempts, created_at, updated_at) ",
        "VALUES ($1, $2, $3, $4, 'pending', $5, $6, $7, $8, $9, $10, $11, $12, $12) ",
        "ON CONFLICT (idempotency_key) DO NOTHING RETURNING ",
        columns!()
    );
    let wish = match new.idempotency_key {
        Some(_) => Some(json(new)?),
        None => None,
    };
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
        wish.as_deref(),
        new.max_attempts,
        s.now(),
    ];
    match s.fetch_returning(ADD, values).await?.first() {
        Some(row) => Ok(Enqueued {
            task: task_row::from_row(row)?.task,
            fresh: true,
        }),
        None => find_by_key(s, new, wish.as_deref()).await,
    }
}

/// The task that has this key already, if it is the same wish.
async fn find_by_key(
    s: &mut DbConnection,
    new: &NewTask,
    wish: Option<&str>,
) -> StoreResult<Enqueued> {
    const BY_KEY: Sql = sql!(
        "SELECT wish, ",
        columns!(),
        " FROM task WHERE idempotency_key = $1"
    );
    let key = new.idempotency_key.clone().unwrap_or_default();
    let Some(row) = s.fetch_optional(BY_KEY, args![key.as_str()]).await? else {
        return Err(StoreError::not_found("task with the key", key));
    };
    let TaskRow { task, .. } = task_row::from_row(&row)?;
    if row.opt_text("wish")?.as_deref() == wish {
        Ok(Enqueued { task, fresh: false })
    } else {
        Err(StoreError::IdempotencyConflict { key, task: task.id })
    }
}

async fn insert_dependencies(
    s: &mut DbConnection,
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
    // Always in the same order, so that two who do this do not wait for each other.
    on.sort_unstable();
    on.dedup();
    for on in on {
        link(s, id, on).await?;
    }
    Ok(())
}

/// Lets one task wait for another, which nobody changes meanwhile.
pub(crate) async fn link(s: &mut DbConnection, id: TaskId, on: TaskId) -> StoreResult<Task> {
    const ADD: Sql = sql!(
        "INSERT INTO dependency (task_id, on_id) VALUES ($1, $2) ON CONFLICT (task_id, on_id) DO NOTHING"
    );
    let found = task_row::get_for_update(s, on).await?;
    let values: Vec<Arg> = args![id, on];
    s.execute(ADD, values).await?;
    Ok(found.task)
}

#[cfg(test)]
mod tests {
    use super::{check, cycle};
    use windlass_core::task::{Dependency, NewTask};

    fn waits_for(siblings: &[usize]) -> NewTask {
        let mut task = NewTask::new(1, "a task");
        task.dependencies = siblings.iter().map(|at| Dependency::Sibling(*at)).collect();
        task
    }

    #[test]
    fn a_circle_is_found_and_a_diamond_is_none() {
        let diamond = [
            waits_for(&[]),
            waits_for(&[0]),
            waits_for(&[0, 0]),
            waits_for(&[1, 2]),
        ];
        assert_eq!(cycle(&diamond), None);
        assert_eq!(cycle(&[waits_for(&[0])]), Some(0));
        let circle = [
            waits_for(&[]),
            waits_for(&[0, 3]),
            waits_for(&[1]),
            waits_for(&[2]),
        ];
        assert_eq!(cycle(&circle), Some(1));
        let error = check(&circle).unwrap_err().to_string();
        assert!(error.contains("circle"), "{error}");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_a_sentence() {
        let with = |change: fn(&mut NewTask)| {
            let mut task = NewTask::new(1, "a task");
            change(&mut task);
            check(&[task]).unwrap_err().to_string()
        };
        assert!(with(|task| task.priority = 5).contains("priority"));
        assert!(with(|task| task.workflow_step = 0).contains("workflow step"));
        assert!(with(|task| task.workflow_step = 16).contains("workflow step"));
        assert!(with(|task| task.max_attempts = 0).contains("attempt"));
        assert!(with(|task| task.title = "  ".to_owned()).contains("title"));
        assert!(with(|task| task.dependencies = vec![Dependency::Sibling(1)]).contains("batch"));
        assert!(with(|task| task.description = "x".repeat(2 << 20)).contains("description"));
        assert!(with(|task| task.idempotency_key = Some(String::new())).contains("key"));
        assert_eq!(check(&[NewTask::new(1, "a task")]), Ok(()));
    }
}
