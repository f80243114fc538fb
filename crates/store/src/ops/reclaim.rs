//! Taking back what silent workers hold.

use windlass_core::task::{StoreResult, Task, TaskStatus};

use super::finish;
use crate::connection::DbConnection;
use crate::sql::{Sql, args, sql};
use crate::task_row;

/// The tasks that are taken back at once; the next sweep takes the next.
const MAX_RECLAIMED: u32 = 256;

/// Takes back the tasks whose lease has run out.
pub(crate) async fn reclaim_expired(s: &mut DbConnection) -> StoreResult<Vec<Task>> {
    const LATE: Sql = sql!(
        "SELECT id FROM task WHERE status = 'in_progress' AND lease_until < $1 ORDER BY id LIMIT $2";
        lock " FOR NO KEY UPDATE SKIP LOCKED"
    );
    // A lease never lies further ahead than its own length: where it does, the clock has leapt back, and it counts
    // from now.
    const LEAPT: Sql = sql!(
        "UPDATE task SET lease_until = $1 + lease_ms ",
        "WHERE status = 'in_progress' AND lease_until > $1 + lease_ms RETURNING id"
    );
    let now = s.now();
    s.fetch_returning(LEAPT, args![now]).await?;
    let late = s.fetch_all(LATE, args![now, MAX_RECLAIMED]).await?;
    let mut swept = Vec::with_capacity(late.len());
    for row in &late {
        let row = task_row::get_for_update(s, row.int("id")?).await?;
        if row.task.status == TaskStatus::InProgress {
            swept.push(finish::mark_lost(s, &row).await?);
        }
    }
    Ok(swept)
}
