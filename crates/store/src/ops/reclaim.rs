//! Reclaims tasks from workers that stopped sending heartbeats.

use windlass_tasks::{StoreResult, Task, TaskStatus};

use super::finish;
use crate::connection::DbConnection;
use crate::sql::{Sql, args, sql};
use crate::task_row;

/// Maximum number of tasks reclaimed per call; the next call takes the next.
const MAX_RECLAIMED: u32 = 256;

/// Reclaims the tasks whose lease has expired.
pub(crate) async fn reclaim_expired(db: &mut DbConnection) -> StoreResult<Vec<Task>> {
    const EXPIRED: Sql = sql!(
        "SELECT id FROM task WHERE status = 'in_progress' AND lease_until < $1 ORDER BY id LIMIT $2";
        lock " FOR NO KEY UPDATE SKIP LOCKED"
    );
    // A lease never ends later than now plus its own length. If it does, the clock was set back, and the
    // lease restarts now.
    const CLAMP_LEASES: Sql = sql!(
        "UPDATE task SET lease_until = $1 + lease_ms ",
        "WHERE status = 'in_progress' AND lease_until > $1 + lease_ms RETURNING id"
    );
    let now = db.now();
    db.fetch_returning(CLAMP_LEASES, args![now]).await?;
    let expired = db.fetch_all(EXPIRED, args![now, MAX_RECLAIMED]).await?;
    let mut reclaimed = Vec::with_capacity(expired.len());
    for row in &expired {
        let row = task_row::get_for_update(db, row.int("id")?).await?;
        if row.task.status == TaskStatus::InProgress {
            reclaimed.push(finish::mark_lost(db, &row).await?);
        }
    }
    Ok(reclaimed)
}
