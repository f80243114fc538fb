//! What becomes of tasks when one that they wait for has changed.

use windlass_core::task::{StoreResult, TaskId, TaskStatus};

use crate::connection::DbConnection;
use crate::events::status;
use crate::sql::{Sql, args, sql};
use crate::task_row::{self, TaskRow};

/// The tasks that wait for this one.
pub(crate) async fn dependants(s: &mut DbConnection, of: TaskId) -> StoreResult<Vec<TaskId>> {
    const OF: Sql = sql!("SELECT task_id FROM dependency WHERE on_id = $1 ORDER BY task_id");
    let rows = s.fetch_all(OF, args![of]).await?;
    rows.iter().map(|row| row.int("task_id")).collect()
}

/// Brings tasks, and those that wait for them, in line with what they wait for.
///
/// One that waits for a task that failed, was cancelled or is itself held up so, is blocked and says why. When that is
/// mended it is pending again. A task that waits for a person's answer is not touched.
pub(crate) async fn update_dependents(
    s: &mut DbConnection,
    mut tasks: Vec<TaskId>,
) -> StoreResult<()> {
    // There is no circle, and who is already in line keeps nobody else busy: this ends.
    while !tasks.is_empty() {
        let mut next = Vec::new();
        tasks.sort_unstable();
        tasks.dedup();
        for id in tasks {
            if update_waiting(s, id).await? {
                next.extend(dependants(s, id).await?);
            }
        }
        tasks = next;
    }
    Ok(())
}

/// Whether those who wait for it must be looked at, too.
async fn update_waiting(s: &mut DbConnection, id: TaskId) -> StoreResult<bool> {
    const UPDATE: Sql = sql!(
        "UPDATE task SET status = $2, held = $3, waiting = $4, output = $5, updated_at = $6 WHERE id = $1"
    );
    const COUNT: Sql = sql!("UPDATE task SET waiting = $2 WHERE id = $1");
    // Locked first, looked at then: two tasks that end at the same time must see each other here.
    let TaskRow { task, held, .. } = task_row::get_for_update(s, id).await?;
    let waits = task.status == TaskStatus::Pending;
    let is_held = held && task.status == TaskStatus::Blocked;
    if !waits && !is_held {
        return Ok(false);
    }
    let (waiting, obstacle) = unmet_dependencies(s, id).await?;
    let now = s.now();
    match obstacle {
        Some(reason) if waits => {
            let status_now = TaskStatus::Blocked;
            let values = args![id, status_now.as_str(), true, waiting, reason, now];
            s.execute(UPDATE, values).await?;
            s.queue_event(status(&task, status_now, "worker"));
            Ok(true)
        }
        None if is_held => {
            let status_now = TaskStatus::Pending;
            let values = args![id, status_now.as_str(), false, waiting, None::<&str>, now];
            s.execute(UPDATE, values).await?;
            s.queue_event(status(&task, status_now, "worker"));
            Ok(true)
        }
        Some(_) | None => {
            s.execute(COUNT, args![id, waiting]).await?;
            Ok(false)
        }
    }
}

/// How many tasks it still waits for, and what is wrong with the first that will not come.
async fn unmet_dependencies(
    s: &mut DbConnection,
    id: TaskId,
) -> StoreResult<(i64, Option<String>)> {
    const UNMET: Sql = sql!(
        "SELECT task.id, task.title, task.status, task.held FROM dependency JOIN task ON task.id = dependency.on_id ",
        "WHERE dependency.task_id = $1 AND task.status <> 'completed' ORDER BY task.id"
    );
    let rows = s.fetch_all(UNMET, args![id]).await?;
    let mut obstacle = None;
    for row in &rows {
        let what = match row.text("status")?.as_str() {
            "failed" => "failed",
            "cancelled" => "was cancelled",
            "blocked" if row.flag("held")? => "is blocked itself",
            _ => continue,
        };
        let on = row.int("id")?;
        let title = row.text("title")?;
        obstacle = Some(format!("it waits for task {on} ({title}), which {what}"));
        break;
    }
    Ok((i64::try_from(rows.len()).unwrap_or(i64::MAX), obstacle))
}
