//! Writes of a running attempt: heartbeats, publish intents and its end.

use std::time::Duration;

use windlass_core::Usage;
use windlass_tasks::{
    AgentSession, Attempt, AttemptRef, AttemptStatus, EarlierChange, LeaseStatus, StoreError,
    StoreResult, TaskId,
};

use super::claim::millis;
use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, json, sql};
use crate::task_row::{self, fence};

/// Renews a lease. An expired lease can be renewed until the task is reclaimed.
pub(crate) async fn heartbeat(
    db: &mut DbConnection,
    attempt: AttemptRef,
    lease: Duration,
) -> StoreResult<LeaseStatus> {
    const RENEW: Sql = sql!(
        "UPDATE task SET lease_ms = $3, lease_until = $4, lease_clock = $5, lease_beat = lease_beat + 1, lease_at = $6 ",
        "WHERE id = $1 AND attempt = $2 AND status = 'in_progress' RETURNING cancel_requested"
    );
    let lease = millis(lease);
    let time = db.lease_time();
    let values = args![
        attempt.task,
        attempt.number,
        lease,
        time.now + lease,
        time.clock,
        db.now(),
    ];
    match db.fetch_returning(RENEW, values).await?.first() {
        Some(row) if row.flag("cancel_requested")? => Ok(LeaseStatus::CancelRequested),
        Some(_) => Ok(LeaseStatus::Held),
        None => {
            task_row::get(db, attempt.task).await?;
            Err(StoreError::Superseded { attempt })
        }
    }
}

pub(crate) async fn record_intent(
    db: &mut DbConnection,
    attempt: AttemptRef,
    commit: &str,
) -> StoreResult<()> {
    const UPDATE: Sql = sql!("UPDATE attempt SET intent = $3 WHERE task_id = $1 AND number = $2");
    fence(db, attempt).await?;
    db.execute(UPDATE, args![attempt.task, attempt.number, commit])
        .await
}

/// Returns the publish intent of the last attempt that is still open, was lost or was released. Intents from
/// before the task was last completed are ignored.
pub(crate) async fn pending_intent(
    db: &mut DbConnection,
    id: TaskId,
) -> StoreResult<Option<String>> {
    const LAST: Sql = sql!(
        "SELECT intent FROM attempt WHERE task_id = $1 AND intent IS NOT NULL ",
        "AND (ended IS NULL OR ended IN ('lost', 'released')) ",
        "AND number > (SELECT coalesce(max(number), 0) FROM attempt WHERE task_id = $1 AND ended = 'completed') ",
        "ORDER BY number DESC LIMIT 1"
    );
    task_row::get(db, id).await?;
    match db.fetch_optional(LAST, args![id]).await? {
        Some(row) => row.opt_text("intent"),
        None => Ok(None),
    }
}

/// Records the commit that keeps an attempt's change. After the end of the attempt only the first is accepted.
pub(crate) async fn record_change(
    db: &mut DbConnection,
    attempt: AttemptRef,
    commit: &str,
) -> StoreResult<()> {
    const REPLACE: Sql =
        sql!("UPDATE attempt SET change_commit = $3 WHERE task_id = $1 AND number = $2");
    const ADD: Sql = sql!(
        "UPDATE attempt SET change_commit = $3 WHERE task_id = $1 AND number = $2 ",
        "AND (change_commit IS NULL OR change_commit = $3) RETURNING number"
    );
    let values = args![attempt.task, attempt.number, commit];
    match fence(db, attempt).await {
        Ok(_) => db.execute(REPLACE, values).await,
        Err(superseded) if superseded.is_superseded() => {
            match db.fetch_returning(ADD, values).await?.first() {
                Some(_) => Ok(()),
                None => Err(superseded),
            }
        }
        Err(error) => Err(error),
    }
}

/// Records the agent's session.
pub(crate) async fn record_session(
    db: &mut DbConnection,
    attempt: AttemptRef,
    session: &AgentSession,
) -> StoreResult<()> {
    const UPDATE: Sql = sql!("UPDATE attempt SET session = $3 WHERE task_id = $1 AND number = $2");
    fence(db, attempt).await?;
    let session = json(session)?;
    db.execute(UPDATE, args![attempt.task, attempt.number, session])
        .await
}

/// Returns the last recorded change, unless the task was retried without it since.
pub(crate) async fn earlier_change(
    db: &mut DbConnection,
    id: TaskId,
) -> StoreResult<Option<EarlierChange>> {
    const LAST: Sql = sql!(
        "SELECT number, change_commit FROM attempt WHERE task_id = $1 AND change_commit IS NOT NULL ",
        "AND number > (SELECT fresh FROM task WHERE id = $1) ORDER BY number DESC LIMIT 1"
    );
    task_row::get(db, id).await?;
    let row = db.fetch_optional(LAST, args![id]).await?;
    row.map(|row| {
        Ok(EarlierChange {
            attempt: row.int_as("number")?,
            commit: row.text("change_commit")?,
        })
    })
    .transpose()
}

/// Returns the stored end of an attempt: its own outcome, `released` or `lost`.
pub(crate) async fn ended(
    db: &mut DbConnection,
    attempt: AttemptRef,
) -> StoreResult<Option<String>> {
    const ENDED: Sql = sql!("SELECT ended FROM attempt WHERE task_id = $1 AND number = $2");
    match db
        .fetch_optional(ENDED, args![attempt.task, attempt.number])
        .await?
    {
        Some(row) => row.opt_text("ended"),
        None => Ok(None),
    }
}

/// The columns that are written when an attempt ends.
pub(crate) struct AttemptEndRow<'a> {
    pub(crate) status: AttemptStatus,
    /// Why the attempt did not complete the task.
    pub(crate) error: Option<&'a str>,
    pub(crate) usage: Option<&'a Usage>,
}

/// Stores how an attempt ended, and its usage.
pub(crate) async fn end(
    db: &mut DbConnection,
    attempt: AttemptRef,
    end: AttemptEndRow<'_>,
) -> StoreResult<()> {
    const END: Sql = sql!(
        "UPDATE attempt SET ended = $3, ended_at = $4, usage = $5, error = $6 ",
        "WHERE task_id = $1 AND number = $2"
    );
    let usage = end.usage.map(json).transpose()?;
    let now = db.now();
    let values = args![
        attempt.task,
        attempt.number,
        end.status.as_str(),
        now,
        usage.as_deref(),
        end.error,
    ];
    db.execute(END, values).await
}

/// Lists the attempts at a task, oldest first.
pub(crate) async fn list(db: &mut DbConnection, id: TaskId) -> StoreResult<Vec<Attempt>> {
    const LIST: Sql = sql!(
        "SELECT number, worker, started_at, ended_at, ended, error, change_commit, session, base, base_parts, usage ",
        "FROM attempt ",
        "WHERE task_id = $1 ORDER BY number LIMIT 10000"
    );
    task_row::get(db, id).await?;
    db.fetch_all(LIST, args![id])
        .await?
        .iter()
        .map(attempt)
        .collect()
}

fn attempt(row: &Row) -> StoreResult<Attempt> {
    let has_usage = row.opt_text("usage")?.is_some();
    let ended = row.opt_text("ended")?;
    Ok(Attempt {
        number: row.int_as("number")?,
        worker: row.text("worker")?,
        started_at: timestamp(row.int("started_at")?),
        ended_at: row.opt_int("ended_at")?.map(timestamp),
        outcome: ended.as_deref().and_then(AttemptStatus::from_name),
        error: row.opt_text("error")?,
        commit: row.opt_text("change_commit")?,
        session: match row.opt_text("session")? {
            Some(_) => Some(row.json("session")?),
            None => None,
        },
        base: row.opt_text("base")?,
        base_parts: row.json("base_parts")?,
        usage: if has_usage {
            row.json("usage")?
        } else {
            Usage::default()
        },
    })
}
