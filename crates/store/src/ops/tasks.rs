//! What people do with tasks that are there: look, link, cancel, retry.

use windlass_core::task::{StoreError, StoreResult, Task, TaskFilter, TaskId, TaskStatus};

use super::{approvals, dependents, enqueue};
use crate::connection::DbConnection;
use crate::events::{page_size, status};
use crate::sql::{Sql, args, sql};
use crate::task_row::{self, TaskRow, columns};

/// How many tasks are listed at once, at most and unless told otherwise.
const MAX_PAGE: u32 = 1_000;

pub(crate) async fn list(s: &mut DbConnection, filter: &TaskFilter) -> StoreResult<Vec<Task>> {
    const LIST: Sql = sql!(
        "SELECT ",
        columns!(),
        " FROM task WHERE ($1 = 0 OR project_id = $1) AND ($2 = 0 OR issue_id = $2) ",
        "AND ($3 = '' OR status = $3) AND id > $4 ORDER BY id LIMIT $5"
    );
    let values = args![
        filter.project_id.unwrap_or(0),
        filter.issue_id.unwrap_or(0),
        filter.status.map_or("", TaskStatus::as_str),
        filter.after.unwrap_or(0),
        page_size(filter.limit, MAX_PAGE),
    ];
    let rows = s.fetch_all(LIST, values).await?;
    rows.iter()
        .map(|row| Ok(task_row::from_row(row)?.task))
        .collect()
}

pub(crate) async fn add_dependency(
    s: &mut DbConnection,
    id: TaskId,
    on: TaskId,
) -> StoreResult<()> {
    // Two who add at the same time could make a circle that neither sees: one after the other.
    const GRAPH: Sql =
        sql!("SELECT value FROM counter WHERE name = 'graph'"; lock " FOR NO KEY UPDATE");
    const REACHES: Sql = sql!(
        "WITH RECURSIVE reach (id) AS (SELECT CAST($1 AS BIGINT) UNION ",
        "SELECT dependency.on_id FROM dependency JOIN reach ON dependency.task_id = reach.id) ",
        "SELECT id FROM reach WHERE id = $2"
    );
    s.fetch_all(GRAPH, args![]).await?;
    let TaskRow { task, .. } = task_row::get_for_update(s, id).await?;
    if !matches!(task.status, TaskStatus::Pending | TaskStatus::Blocked) {
        return Err(StoreError::Refused(format!(
            "task {id} is {}: only a task that waits can wait for another one",
            task.status
        )));
    }
    task_row::get(s, on).await?;
    if s.fetch_optional(REACHES, args![on, id]).await?.is_some() {
        return Err(StoreError::Refused(format!(
            "task {id} cannot wait for task {on}, which waits for task {id} itself"
        )));
    }
    enqueue::link(s, id, on).await?;
    dependents::update_dependents(s, vec![id]).await
}

pub(crate) async fn cancel(s: &mut DbConnection, id: TaskId) -> StoreResult<Task> {
    const ASK: Sql = sql!("UPDATE task SET cancel_requested = 1, updated_at = $2 WHERE id = $1");
    const STOP: Sql = sql!(
        "UPDATE task SET status = 'cancelled', held = 0, output = $3, updated_at = $2 WHERE id = $1"
    );
    let TaskRow { task, .. } = task_row::get_for_update(s, id).await?;
    let now = s.now();
    match task.status {
        TaskStatus::InProgress => s.execute(ASK, args![id, now]).await?,
        TaskStatus::Pending | TaskStatus::Blocked => {
            s.execute(
                STOP,
                args![id, now, "cancelled before it was begun or answered"],
            )
            .await?;
            s.queue_event(status(&task, TaskStatus::Cancelled, "worker"));
            let waiting = dependents::dependants(s, id).await?;
            dependents::update_dependents(s, waiting).await?;
        }
        // Asked twice is asked once.
        TaskStatus::Cancelled => {}
        TaskStatus::Completed | TaskStatus::Failed => {
            return Err(StoreError::Refused(format!(
                "task {id} is {} already: there is nothing to cancel",
                task.status
            )));
        }
    }
    Ok(task_row::get(s, id).await?.task)
}

pub(crate) async fn retry(s: &mut DbConnection, id: TaskId) -> StoreResult<Task> {
    let TaskRow { task, held, .. } = task_row::get_for_update(s, id).await?;
    match task.status {
        TaskStatus::Pending | TaskStatus::InProgress => {
            return Err(StoreError::Refused(format!(
                "task {id} is {} already",
                task.status
            )));
        }
        TaskStatus::Blocked if held => {
            return Err(StoreError::Refused(format!(
                "task {id} is blocked by another one: {}; retry that one",
                task.output.unwrap_or_default()
            )));
        }
        _ => {}
    }
    reset_to_pending(s, &task, true).await?;
    Ok(task_row::get(s, id).await?.task)
}

/// Puts a task back where it waits for a worker; with its attempts given anew if asked for.
pub(crate) async fn reset_to_pending(
    s: &mut DbConnection,
    task: &Task,
    anew: bool,
) -> StoreResult<()> {
    const BACK: Sql = sql!(
        "UPDATE task SET status = 'pending', tries = CASE WHEN $3 = 1 THEN 0 ELSE tries END, held = 0, ",
        "cancel_requested = 0, unverified = 0, branch = NULL, completed_at = NULL, output = NULL, updated_at = $2 ",
        "WHERE id = $1"
    );
    let now = s.now();
    s.execute(BACK, args![task.id, now, anew]).await?;
    s.queue_event(status(task, TaskStatus::Pending, "worker"));
    approvals::withdraw(s, task.id).await?;
    let mut affected = dependents::dependants(s, task.id).await?;
    affected.push(task.id);
    dependents::update_dependents(s, affected).await
}
