//! StoreRetention: removes old events, traces and entries of the audit log, in small transactions.

use std::time::Duration;

use windlass_tasks::StoreResult;

use crate::connection::DbConnection;
use crate::pools::Pools;
use crate::sql::{Sql, args, sql};

/// How many records are removed in one transaction, so that others can write in between.
const BATCH: i64 = 2_000;

/// How long records are kept. `None` means forever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreRetention {
    /// Events of tasks. The newest event is always kept.
    pub events: Option<Duration>,
    /// Traces of attempts and requests.
    pub traces: Option<Duration>,
    /// The audit log.
    pub audit: Option<Duration>,
}

/// How many records were removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Pruned {
    /// Events.
    pub events: u64,
    /// Traces.
    pub traces: u64,
    /// Entries of the audit log.
    pub audit: u64,
}

/// The oldest events, up to the first one that must stay: one that is younger, the newest, one that a follower has not seen,
/// and one of a task that is not finished. What remains is numbered without gaps. It reads no more events than it may remove.
const EVENTS: Sql = sql!(
    "DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE seq > $3 ORDER BY seq LIMIT $2) AND seq < ",
    "(SELECT coalesce(min(oldest.seq), 9223372036854775807) FROM ",
    "(SELECT seq, at, task_id FROM event WHERE seq > $3 ORDER BY seq LIMIT $2) AS oldest ",
    "LEFT JOIN task ON task.id = oldest.task_id WHERE oldest.at >= $1 ",
    "OR task.status IN ('pending', 'in_progress', 'blocked') OR oldest.seq = (SELECT max(seq) FROM event) ",
    "OR oldest.seq > (SELECT min(value) FROM counter WHERE name = 'event' OR name LIKE 'follower %')) RETURNING seq AS n"
);
const TRACES: Sql = sql!(
    "DELETE FROM trace WHERE number IN (SELECT number FROM trace WHERE number > $3 AND at < $1 AND (task_id IS NULL OR task_id NOT IN ",
    "(SELECT id FROM task WHERE status = 'in_progress')) ORDER BY number LIMIT $2) RETURNING number AS n"
);
const AUDIT: Sql = sql!(
    "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE id > $3 AND at < $1 ORDER BY id LIMIT $2) RETURNING id AS n"
);

/// Removes what is older than its retention.
pub(super) async fn remove_old(pools: &Pools, retention: &StoreRetention) -> StoreResult<Pruned> {
    Ok(Pruned {
        events: remove(pools, EVENTS, retention.events).await?,
        traces: remove(pools, TRACES, retention.traces).await?,
        audit: remove(pools, AUDIT, retention.audit).await?,
    })
}

async fn remove(pools: &Pools, statement: Sql, age: Option<Duration>) -> StoreResult<u64> {
    let Some(age) = age else {
        return Ok(0);
    };
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    // What was removed is not read again: PostgreSQL keeps it for a while.
    let (mut removed, mut last) = (0, 0);
    loop {
        let numbers = remove_batch(pools, statement, (age, last)).await?;
        let count = numbers.len() as u64;
        removed += count;
        last = numbers.into_iter().max().unwrap_or(last);
        if count < BATCH.unsigned_abs() {
            return Ok(removed);
        }
        tokio::task::yield_now().await;
    }
}

/// Removes a batch after a record, and returns the numbers of what was removed.
async fn remove_batch(
    pools: &Pools,
    statement: Sql,
    (age, last): (i64, i64),
) -> StoreResult<Vec<i64>> {
    let mut db: DbConnection = pools.writer().await.map_err(|failed| failed.error)?;
    pools.begin(&mut db, false).await?;
    let before = db.now().saturating_sub(age);
    let values = args![before, BATCH, last];
    let result = match db.fetch_returning(statement, values).await {
        Ok(rows) => {
            let numbers: StoreResult<Vec<i64>> = rows.iter().map(|row| row.int("n")).collect();
            db.commit().await.and(numbers)
        }
        Err(error) => Err(error),
    };
    if result.is_err() && db.rollback().await.is_err() {
        db.close().await;
    }
    result
}
