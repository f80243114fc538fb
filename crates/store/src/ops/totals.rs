//! Numbers about the whole store, for monitoring.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_tasks::{StoreResult, StoreTotals};

use crate::connection::DbConnection;
use crate::events;
use crate::sql::{Row, Sql, args, sql};

const TASKS: Sql = sql!("SELECT status AS name, count(*) AS n FROM task GROUP BY status");
const ATTEMPTS: Sql = sql!(
    "SELECT coalesce(ended, 'open') AS name, count(*) AS n FROM attempt GROUP BY coalesce(ended, 'open')"
);
/// The time since the oldest task that can be claimed changed. Both parts have an index.
macro_rules! oldest {
    ($now:literal) => {
        concat!(
            "SELECT ", $now, " - min(at) AS n FROM (SELECT min(updated_at) AS at FROM task WHERE status = 'pending' ",
            "AND waiting = 0 AND paused = 0 UNION ALL SELECT min(updated_at) FROM task WHERE status = 'pending' ",
            "AND labels <> '[]' AND waiting = 1048576 AND paused = 0) AS ready"
        )
    };
}
const OLDEST: Sql = Sql {
    sqlite: oldest!("CAST(unixepoch('subsec') * 1000 AS INTEGER)"),
    postgres: oldest!("CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"),
};
const BLOCKERS: Sql = sql!("SELECT count(*) AS n FROM blocker WHERE answered_at IS NULL");
const APPROVALS: Sql = sql!("SELECT count(*) AS n FROM approval WHERE decided_at IS NULL");
const USAGE: Sql = Sql {
    sqlite: "SELECT coalesce(sum(json_extract(usage, '$.input_tokens')), 0) AS input, \
             coalesce(sum(json_extract(usage, '$.output_tokens')), 0) AS output FROM attempt \
             WHERE usage IS NOT NULL AND usage <> ''",
    postgres: "SELECT CAST(coalesce(sum(CAST(CAST(usage AS json)->>'input_tokens' AS BIGINT)), 0) AS BIGINT) AS input, \
               CAST(coalesce(sum(CAST(CAST(usage AS json)->>'output_tokens' AS BIGINT)), 0) AS BIGINT) AS output \
               FROM attempt WHERE usage IS NOT NULL AND usage <> ''",
};

/// Reads all numbers but the latencies, which the store itself knows.
pub(crate) async fn read(db: &mut DbConnection) -> StoreResult<StoreTotals> {
    let mut totals = StoreTotals::default();
    totals.tasks = counts(&db.fetch_all(TASKS, args![]).await?)?;
    totals.attempts = counts(&db.fetch_all(ATTEMPTS, args![]).await?)?;
    let oldest = db.fetch_optional(OLDEST, args![]).await?;
    let oldest = oldest.map(|row| row.opt_int("n")).transpose()?.flatten();
    let oldest = u64::try_from(oldest.unwrap_or(0)).unwrap_or(0);
    totals.oldest_waiting = Duration::from_millis(oldest);
    totals.open_blockers = count(db, BLOCKERS).await?;
    totals.open_approvals = count(db, APPROVALS).await?;
    totals.last_event = events::last(db).await?;
    if let Some(row) = db.fetch_optional(USAGE, args![]).await? {
        totals.input_tokens = row.int_as("input")?;
        totals.output_tokens = row.int_as("output")?;
    }
    Ok(totals)
}

fn counts(rows: &[Row]) -> StoreResult<BTreeMap<String, u64>> {
    let entry = |row: &Row| Ok((row.text("name")?, row.int_as("n")?));
    rows.iter().map(entry).collect()
}

async fn count(db: &mut DbConnection, query: Sql) -> StoreResult<u64> {
    match db.fetch_optional(query, args![]).await? {
        Some(row) => row.int_as("n"),
        None => Ok(0),
    }
}
