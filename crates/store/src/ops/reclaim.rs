//! Reclaims tasks from workers that stopped sending heartbeats.

use parking_lot::Mutex;
use windlass_tasks::{StoreResult, Task, TaskId};

use super::finish;
use super::leases::{LeaseWatch, StoredLease};
use crate::connection::DbConnection;
use crate::sql::{Sql, args, sql};
use crate::task_row;

/// Maximum number of leases that are read per call, the oldest first.
const MAX_READ: u32 = 10_000;
/// Maximum number of tasks reclaimed per call; the next call takes the next.
const MAX_RECLAIMED: usize = 256;

/// Reclaims the tasks with an expired lease.
pub(crate) async fn reclaim_expired(
    db: &mut DbConnection,
    watch: &Mutex<LeaseWatch<TaskId>>,
) -> StoreResult<Vec<Task>> {
    const HELD: Sql = sql!(
        "SELECT id, attempt, lease_ms, lease_until, lease_clock, lease_beat, lease_at FROM task ",
        "WHERE status = 'in_progress' ORDER BY lease_at LIMIT $1"
    );
    // Locks the task unless it was renewed after it was read. A locked task is being written by its worker.
    const LOCK: Sql = sql!(
        "SELECT id FROM task WHERE id = $1 AND attempt = $2 AND lease_beat = $3 AND status = 'in_progress'";
        lock " FOR NO KEY UPDATE SKIP LOCKED"
    );
    let held = db.fetch_all(HELD, args![MAX_READ]).await?;
    let held = held.iter().map(StoredLease::from_row);
    let held: Vec<StoredLease<TaskId>> = held.collect::<StoreResult<_>>()?;
    let mut expired = watch.lock().expired(held, db.lease_time());
    expired.sort_by_key(|lease| lease.id);
    let mut reclaimed = Vec::new();
    for lease in expired.into_iter().take(MAX_RECLAIMED) {
        let values = args![lease.id, lease.attempt, lease.beat];
        if db.fetch_optional(LOCK, values).await?.is_some() {
            let row = task_row::get_for_update(db, lease.id).await?;
            reclaimed.push(finish::mark_lost(db, &row).await?);
        }
    }
    Ok(reclaimed)
}
