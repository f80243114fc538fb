//! Adds tasks: all or none, and one task per idempotency key.

use windlass_tasks::{
    Dependency, Enqueued, NewTask, StoreError, StoreResult, Task, TaskId, TaskStatus, sorted_labels,
};

use super::claim::WAITS_FOR_LABELS;
use super::new_task_row::{NewTaskRow, new_columns};
use super::{candidates, dependents, projects};
use crate::connection::DbConnection;
use crate::events::status;
use crate::sql::{Arg, Sql, args, json, sql};
use crate::task_row::{self, TaskRow, columns};

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
    projects::exists(db, new.project_id).await?;
    if let Some(id) = new.issue_id {
        let issue = projects::get_issue(db, id).await?;
        if issue.project_id != new.project_id {
            return Err(StoreError::Refused(format!(
                "issue {id} belongs to project {}, not to {}",
                issue.project_id, new.project_id
            )));
        }
    }
    Ok(())
}

async fn add(db: &mut DbConnection, new: &NewTask) -> StoreResult<Enqueued> {
    const ADD: Sql = sql!(
        "INSERT INTO task (",
        new_columns!(),
        ") ",
        "VALUES ($1, $2, $3, $4, 'pending', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $20) ",
        "ON CONFLICT (idempotency_key) DO NOTHING RETURNING ",
        columns!()
    );
    let row = NewTaskRow::new(new)?;
    let mut values = row.args();
    values.extend(args![
        labels_json(new)?,
        if new.needs.is_empty() {
            0
        } else {
            WAITS_FOR_LABELS
        },
        db.now(),
    ]);
    match db.fetch_returning(ADD, values).await?.first() {
        Some(row) => Ok(Enqueued {
            task: task_row::from_row(row)?.task,
            fresh: true,
        }),
        None => find_by_key(db, new, row.request.as_deref()).await,
    }
}

/// Returns what a task needs as a JSON array.
fn labels_json(new: &NewTask) -> StoreResult<String> {
    json(&sorted_labels(&new.needs).map_err(StoreError::Refused)?)
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
    const MARK: Sql = sql!("UPDATE task SET depended_on = 1 WHERE id = $1 AND depended_on = 0");
    let found = task_row::get_for_update(db, on).await?;
    let values: Vec<Arg> = args![id, on];
    db.execute(ADD, values).await?;
    db.execute(MARK, args![on]).await?;
    Ok(found.task)
}
