//! Traces, stored by id.

use windlass_core::TraceNode;
use windlass_tasks::{StoreError, StoreResult, TaskId};

use crate::connection::DbConnection;
use crate::events::page_size;
use crate::row_statements::RowStatement;
use crate::sql::{Arg, Sql, args, json, sql};

/// Maximum and default number of ids per page.
const MAX_PAGE: u32 = 1_000;

/// A trace to store.
#[derive(Debug)]
pub(crate) struct NewTrace {
    pub(crate) id: String,
    pub(crate) task: Option<TaskId>,
    pub(crate) root: TraceNode,
}

static PUT: RowStatement = RowStatement::new(sql!(
    "INSERT INTO trace (id, task_id, at, body) VALUES ($1, $2, $3, $4) ",
    "ON CONFLICT (id) DO UPDATE SET task_id = excluded.task_id, at = excluded.at, body = excluded.body"
));

pub(crate) async fn put(db: &mut DbConnection, trace: &NewTrace) -> StoreResult<()> {
    let row = row(trace, db.now())?;
    PUT.run(db, row).await.map(drop)
}

/// Stores traces, on SQLite.
pub(crate) async fn put_merged(db: &mut DbConnection, traces: &[&NewTrace]) -> StoreResult<()> {
    let now = db.now();
    let rows = traces.iter().map(|trace| row(trace, now));
    let rows = rows.collect::<StoreResult<_>>()?;
    PUT.run_each(db, rows).await.map(drop)
}

fn row(trace: &NewTrace, now: i64) -> StoreResult<Vec<Arg>> {
    Ok(args![
        trace.id.as_str(),
        trace.task,
        now,
        json(&trace.root)?
    ])
}

pub(crate) async fn get(db: &mut DbConnection, id: &str) -> StoreResult<TraceNode> {
    const ONE: Sql = sql!("SELECT body FROM trace WHERE id = $1");
    match db.fetch_optional(ONE, args![id]).await? {
        Some(row) => row.json("body"),
        None => Err(StoreError::not_found("trace", id)),
    }
}

pub(crate) async fn list(
    db: &mut DbConnection,
    task: Option<TaskId>,
    limit: u32,
) -> StoreResult<Vec<String>> {
    const NEWEST: Sql = sql!("SELECT id FROM trace ORDER BY number DESC LIMIT $1");
    const OF_TASK: Sql =
        sql!("SELECT id FROM trace WHERE task_id = $2 ORDER BY number DESC LIMIT $1");
    let limit = page_size(limit, MAX_PAGE);
    let rows = match task {
        None => db.fetch_all(NEWEST, args![limit]).await?,
        Some(task) => db.fetch_all(OF_TASK, args![limit, task]).await?,
    };
    rows.iter().map(|row| row.text("id")).collect()
}
