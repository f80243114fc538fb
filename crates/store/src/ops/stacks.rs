//! Tasks that wait because the changes in their base conflict.

use windlass_core::Usage;
use windlass_tasks::{
    AttemptRef, NewTask, Release, StoreError, StoreResult, Task, TaskId, TaskStatus,
};

use super::bases::dependency_changes;
use super::outdated::{mark_outdated, outdate_dependents};
use super::{enqueue, finish, tasks};
use crate::connection::DbConnection;
use crate::sql::{Sql, args, decode_error, sql};
use crate::task_row::{self, columns, fence};

/// Adds the task that merges conflicting dependencies, and lets the attempt's task wait for it.
pub(crate) async fn wait_for_merge(
    db: &mut DbConnection,
    attempt: AttemptRef,
    merge: &NewTask,
) -> StoreResult<Task> {
    const UNLINK: Sql = sql!("DELETE FROM dependency WHERE task_id = $1 AND on_id = $2");
    tasks::lock_graph(db).await?;
    fence(db, attempt).await?;
    let merge = find_or_add(db, merge).await?;
    let is_known = dependency_changes(db, attempt.task).await?;
    if merge.id == attempt.task || is_known.iter().any(|known| known.task == merge.id) {
        return Err(StoreError::Refused(format!(
            "task {} already merges these changes for task {}",
            merge.id, attempt.task
        )));
    }
    tasks::check_acyclic(db, attempt.task, merge.id).await?;
    for on in &merge.dependencies {
        db.execute(UNLINK, args![attempt.task, *on]).await?;
    }
    enqueue::link(db, attempt.task, merge.id).await?;
    let reason = format!("waiting for task {}: {}", merge.id, merge.title);
    release(db, attempt, reason).await?;
    task_row::get(db, merge.id).await.map(|row| row.task)
}

/// Returns the task that merges these changes. It may have been added for another task, with another description.
async fn find_or_add(db: &mut DbConnection, merge: &NewTask) -> StoreResult<Task> {
    const BY_KEY: Sql = sql!(
        "SELECT ",
        columns!(),
        " FROM task WHERE idempotency_key = $1"
    );
    let key = merge.idempotency_key.as_deref();
    if let Some(row) = db.fetch_optional(BY_KEY, args![key]).await? {
        return Ok(task_row::from_row(&row)?.task);
    }
    let added = enqueue::enqueue(db, std::slice::from_ref(merge), false).await?;
    match added.into_iter().next() {
        Some(added) => Ok(added.task),
        None => Err(decode_error("task", "nothing was added")),
    }
}

/// Makes a completed dependency outdated, and lets the attempt's task wait for it.
pub(crate) async fn wait_for_update(
    db: &mut DbConnection,
    attempt: AttemptRef,
    dependency: TaskId,
    reason: &str,
) -> StoreResult<Task> {
    tasks::lock_graph(db).await?;
    fence(db, attempt).await?;
    let row = task_row::get_for_update(db, dependency).await?;
    if row.task.status == TaskStatus::Completed {
        mark_outdated(db, &row.task, reason).await?;
        outdate_dependents(db, dependency, None).await?;
    }
    release(db, attempt, format!("waiting for task {dependency}")).await?;
    task_row::get(db, dependency).await.map(|row| row.task)
}

async fn release(db: &mut DbConnection, attempt: AttemptRef, reason: String) -> StoreResult<()> {
    let release = Release {
        reason,
        usage: Usage::default(),
    };
    finish::release(db, attempt, &release).await
}
