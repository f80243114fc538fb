//! Updates the dependents of a task when its status changes.

use windlass_tasks::{StoreResult, TaskId, TaskStatus};

use super::candidates;
use super::claim::WAITS_FOR_LABELS;
use crate::connection::DbConnection;
use crate::events::status;
use crate::sql::{Sql, args, sql};
use crate::task_row::{self, TaskRow};

/// Lists the tasks that depend on this one, with the one that it is a candidate of.
pub(crate) async fn dependents(db: &mut DbConnection, task: TaskId) -> StoreResult<Vec<TaskId>> {
    const DEPENDENTS: Sql = sql!(
        "SELECT task_id FROM dependency WHERE on_id = $1 UNION ",
        "SELECT candidate_of FROM task WHERE id = $1 AND candidate_of IS NOT NULL ORDER BY task_id"
    );
    let rows = db.fetch_all(DEPENDENTS, args![task]).await?;
    rows.iter().map(|row| row.id("task_id")).collect()
}

/// Updates tasks and, transitively, their dependents to match the status of their dependencies.
///
/// A task is blocked, with the reason, if a dependency failed, was cancelled or is itself blocked by a
/// dependency. When the cause is gone the task is pending again. A task that waits for a person's answer is
/// not changed.
pub(crate) async fn update_dependents(
    db: &mut DbConnection,
    mut tasks: Vec<TaskId>,
) -> StoreResult<()> {
    // This terminates: there are no cycles, and a task that does not change does not cause further updates.
    while !tasks.is_empty() {
        let mut next = Vec::new();
        tasks.sort_unstable();
        tasks.dedup();
        for id in tasks {
            if update_waiting(db, id).await? {
                next.extend(dependents(db, id).await?);
            }
        }
        tasks = next;
    }
    Ok(())
}

/// Updates one task. Returns `true` if its dependents must be updated too.
async fn update_waiting(db: &mut DbConnection, id: TaskId) -> StoreResult<bool> {
    const UPDATE: Sql = sql!(
        "UPDATE task SET status = $2, held = $3, waiting = $4, output = $5, updated_at = $6 WHERE id = $1"
    );
    const COUNT: Sql = sql!("UPDATE task SET waiting = $2 WHERE id = $1");
    // Lock first, then read: two tasks that end at the same time must see each other here.
    let TaskRow { task, held, .. } = task_row::get_for_update(db, id).await?;
    let is_pending = task.status == TaskStatus::Pending;
    let is_blocked = held && task.status == TaskStatus::Blocked;
    if !is_pending && !is_blocked {
        return Ok(false);
    }
    let (unmet, reason) = unmet_dependencies(db, id).await?;
    let labels = if task.needs.is_empty() {
        0
    } else {
        WAITS_FOR_LABELS
    };
    let waiting = unmet + candidates::unfinished(db, &task).await? + labels;
    let now = db.now();
    match reason {
        Some(reason) if is_pending => {
            let status_now = TaskStatus::Blocked;
            let values = args![id, status_now.as_str(), true, waiting, reason, now];
            db.execute(UPDATE, values).await?;
            db.queue_event(status(&task, status_now, "worker"));
            Ok(true)
        }
        None if is_blocked => {
            let status_now = TaskStatus::Pending;
            let values = args![id, status_now.as_str(), false, waiting, None::<&str>, now];
            db.execute(UPDATE, values).await?;
            db.queue_event(status(&task, status_now, "worker"));
            Ok(true)
        }
        Some(_) | None => {
            db.execute(COUNT, args![id, waiting]).await?;
            Ok(false)
        }
    }
}

/// Returns the number of unmet dependencies, and the reason if one of them cannot be met.
async fn unmet_dependencies(
    db: &mut DbConnection,
    id: TaskId,
) -> StoreResult<(i64, Option<String>)> {
    const UNMET: Sql = sql!(
        "SELECT task.id, task.title, task.status, task.held FROM dependency JOIN task ON task.id = dependency.on_id ",
        "WHERE dependency.task_id = $1 AND task.status <> 'completed' ORDER BY task.id"
    );
    let rows = db.fetch_all(UNMET, args![id]).await?;
    let mut reason = None;
    for row in &rows {
        let what = match row.text("status")?.as_str() {
            "failed" => "failed",
            "cancelled" => "was cancelled",
            "blocked" if row.flag("held")? => "is itself blocked",
            _ => continue,
        };
        let on: TaskId = row.id("id")?;
        let title = row.text("title")?;
        reason = Some(format!("it depends on task {on} ({title}), which {what}"));
        break;
    }
    Ok((i64::try_from(rows.len()).unwrap_or(i64::MAX), reason))
}
