//! User operations on stored tasks: list, link, cancel, retry.

use windlass_tasks::{StoreError, StoreResult, Task, TaskFilter, TaskId, TaskStatus};

use super::{approvals, candidates, dependents, enqueue, landings};
use crate::connection::DbConnection;
use crate::events::{page_size, status};
use crate::sql::{Arg, Sql, args, or_zero, sql};
use crate::task_row::{self, TaskRow, columns};

/// Maximum and default number of tasks per page.
const MAX_PAGE: u32 = 1_000;

/// Lists tasks, ordered by id. A condition that is not asked for is not in the statement, so that each has an index.
///
/// With a status, PostgreSQL compares both columns of the index of statuses, and orders by both. It would else read tasks by id
/// until it has found enough, which in a long history begins with those that ended long ago.
pub(crate) async fn list(db: &mut DbConnection, filter: &TaskFilter) -> StoreResult<Vec<Task>> {
    let mut text = concat!("SELECT ", columns!(), " FROM task WHERE ").to_owned();
    let limit = page_size(filter.limit, MAX_PAGE);
    let mut values = args![or_zero(filter.after), limit];
    let (start, order) = match filter.status {
        Some(status) => {
            values.extend(args![status.as_str()]);
            if db.is_sqlite() {
                ("status = $3 AND id > $1", "id")
            } else {
                ("(status, id) > ($3, $1) AND status <= $3", "status, id")
            }
        }
        None => ("id > $1", "id"),
    };
    text.push_str(start);
    // SQLite has no statistics, and would read the whole project: the plus sign leaves it the index of statuses alone.
    let project = match filter.status {
        Some(_) if db.is_sqlite() => "+project_id",
        _ => "project_id",
    };
    let conditions = [
        (project, filter.project_id.map(Arg::from)),
        ("issue_id", filter.issue_id.map(Arg::from)),
        ("candidate_of", filter.candidate_of.map(Arg::from)),
    ];
    for (column, value) in conditions {
        if let Some(value) = value {
            values.push(value);
            text.push_str(&format!(" AND {column} = ${}", values.len()));
        }
    }
    text.push_str(&format!(" ORDER BY {order} LIMIT $2"));
    let rows = db.fetch_built(text, values).await?;
    rows.iter()
        .map(|row| Ok(task_row::from_row(row)?.task))
        .collect()
}

/// Serializes changes to dependencies. Two concurrent transactions could create a cycle that neither sees.
pub(crate) async fn lock_graph(db: &mut DbConnection) -> StoreResult<()> {
    const LOCK_GRAPH: Sql =
        sql!("SELECT value FROM counter WHERE name = 'graph'"; lock " FOR NO KEY UPDATE");
    db.fetch_all(LOCK_GRAPH, args![]).await.map(drop)
}

/// Fails if `on` depends on `id`, directly or not. The graph must be locked.
pub(crate) async fn check_acyclic(
    db: &mut DbConnection,
    id: TaskId,
    on: TaskId,
) -> StoreResult<()> {
    const REACHES: Sql = sql!(
        "WITH RECURSIVE reach (id) AS (SELECT CAST($1 AS BIGINT) UNION ",
        "SELECT dependency.on_id FROM dependency JOIN reach ON dependency.task_id = reach.id) ",
        "SELECT id FROM reach WHERE id = $2"
    );
    if id == on {
        return Err(StoreError::Refused(format!(
            "task {id} cannot depend on itself"
        )));
    }
    if db.fetch_optional(REACHES, args![on, id]).await?.is_some() {
        return Err(StoreError::Refused(format!(
            "task {id} cannot depend on task {on}, which itself depends on task {id}"
        )));
    }
    Ok(())
}

pub(crate) async fn add_dependency(
    db: &mut DbConnection,
    id: TaskId,
    on: TaskId,
) -> StoreResult<()> {
    lock_graph(db).await?;
    let TaskRow { task, .. } = task_row::get_for_update(db, id).await?;
    if !matches!(task.status, TaskStatus::Pending | TaskStatus::Blocked) {
        return Err(StoreError::Refused(format!(
            "task {id} is {}: only a pending or blocked task can get a new dependency",
            task.status
        )));
    }
    if task.best_of.is_some() {
        return Err(StoreError::Refused(format!(
            "task {id} has candidates, which may have started: it cannot get a new dependency"
        )));
    }
    task_row::get(db, on).await?;
    check_acyclic(db, id, on).await?;
    enqueue::link(db, id, on).await?;
    dependents::update_dependents(db, vec![id]).await
}

pub(crate) async fn cancel(db: &mut DbConnection, id: TaskId) -> StoreResult<Task> {
    const REQUEST: Sql =
        sql!("UPDATE task SET cancel_requested = 1, updated_at = $2 WHERE id = $1");
    const CANCEL: Sql = sql!(
        "UPDATE task SET status = 'cancelled', held = 0, output = $3, updated_at = $2 WHERE id = $1"
    );
    candidates::lock_parent(db, id).await?;
    let TaskRow { task, .. } = task_row::get_for_update(db, id).await?;
    let now = db.now();
    match task.status {
        TaskStatus::InProgress => db.execute(REQUEST, args![id, now]).await?,
        TaskStatus::Pending | TaskStatus::Blocked => {
            db.execute(
                CANCEL,
                args![id, now, "cancelled before it was started or answered"],
            )
            .await?;
            db.queue_event(status(&task, TaskStatus::Cancelled, "worker"));
            let dependents = dependents::dependents(db, id).await?;
            dependents::update_dependents(db, dependents).await?;
            candidates::cancel_open(db, id).await?;
        }
        // Cancelling again has no effect.
        TaskStatus::Cancelled => {}
        TaskStatus::Completed | TaskStatus::Failed => {
            return Err(StoreError::Refused(format!(
                "task {id} is already {}: there is nothing to cancel",
                task.status
            )));
        }
    }
    Ok(task_row::get(db, id).await?.task)
}

/// Resets a task to pending. With `fresh`, the changes of its attempts so far are not continued.
pub(crate) async fn retry(db: &mut DbConnection, id: TaskId, fresh: bool) -> StoreResult<Task> {
    const UNPAUSE: Sql = sql!("UPDATE task SET paused = 0 WHERE id = $1");
    const START_FRESH: Sql = sql!("UPDATE task SET fresh = attempt, review = NULL WHERE id = $1");
    let TaskRow { task, held, .. } = task_row::get_for_update(db, id).await?;
    match task.status {
        TaskStatus::Pending | TaskStatus::InProgress => {
            return Err(StoreError::Refused(format!(
                "task {id} is already {}",
                task.status
            )));
        }
        TaskStatus::Blocked if held => {
            return Err(StoreError::Refused(format!(
                "task {id} is blocked by another task: {}; retry that task",
                task.output.unwrap_or_default()
            )));
        }
        _ => {}
    }
    if let Some(landed) = &task.landed {
        return Err(StoreError::Refused(format!(
            "task {id} has landed with commit {}: its change would be made a second time",
            landed.commit
        )));
    }
    for candidate in candidates::unsuccessful(db, &task).await? {
        reset_to_pending(db, &candidate, true).await?;
        if fresh {
            db.execute(START_FRESH, args![candidate.id]).await?;
        }
    }
    reset_to_pending(db, &task, true).await?;
    db.execute(UNPAUSE, args![id]).await?;
    if fresh {
        db.execute(START_FRESH, args![id]).await?;
    }
    Ok(task_row::get(db, id).await?.task)
}

/// Accepts the warnings in the proof of a completed task.
pub(crate) async fn accept(db: &mut DbConnection, id: TaskId) -> StoreResult<Task> {
    const ACCEPT: Sql = sql!(
        "UPDATE task SET needs_review = 0, updated_at = $2 WHERE id = $1 AND needs_review = 1"
    );
    let TaskRow { task, .. } = task_row::get_for_update(db, id).await?;
    if task.status != TaskStatus::Completed {
        return Err(StoreError::Refused(format!(
            "task {id} is {}: only the proof of a completed task can be accepted",
            task.status
        )));
    }
    let now = db.now();
    db.execute(ACCEPT, args![id, now]).await?;
    db.queue_event(status(&task, TaskStatus::Completed, "worker"));
    Ok(task_row::get(db, id).await?.task)
}

/// Resets a task to pending, and its attempt count if `reset_attempts` is `true`.
pub(crate) async fn reset_to_pending(
    db: &mut DbConnection,
    task: &Task,
    reset_attempts: bool,
) -> StoreResult<()> {
    const RESET: Sql = sql!(
        "UPDATE task SET status = 'pending', tries = CASE WHEN $3 = 1 THEN 0 ELSE tries END, held = 0, ",
        "cancel_requested = 0, unverified = 0, needs_review = 0, branch = NULL, completed_at = NULL, output = NULL, updated_at = $2, ",
        "review = CASE WHEN review = 'request_changes' THEN review ELSE NULL END, ",
        "landed_commit = NULL, landed_at = NULL, landed_by = NULL ",
        "WHERE id = $1"
    );
    let now = db.now();
    db.execute(RESET, args![task.id, now, reset_attempts])
        .await?;
    db.queue_event(status(task, TaskStatus::Pending, "worker"));
    landings::remove_queued(db, task.id).await?;
    approvals::withdraw(db, task.id).await?;
    let mut affected = dependents::dependents(db, task.id).await?;
    affected.push(task.id);
    dependents::update_dependents(db, affected).await
}
