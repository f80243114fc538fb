//! What an attempt says while it works: that it lives, and what it is about to publish.

use std::time::Duration;

use windlass_core::Usage;
use windlass_core::task::{Attempt, AttemptRef, Ending, Lease, StoreError, StoreResult, TaskId};

use super::claim::millis;
use crate::session::{Session, moment};
use crate::sql::{Row, Sql, args, json, sql};
use crate::task::{self, fence};

/// Renews a lease, also one that has run out and that nobody has taken back yet.
pub(crate) async fn heartbeat(
    s: &mut Session,
    attempt: AttemptRef,
    lease: Duration,
) -> StoreResult<Lease> {
    const RENEW: Sql = sql!(
        "UPDATE task SET lease_ms = $4, lease_until = $3 + $4 ",
        "WHERE id = $1 AND attempt = $2 AND status = 'in_progress' RETURNING cancel_requested"
    );
    let values = args![attempt.task, attempt.number, s.now(), millis(lease)];
    match s.change(RENEW, values).await?.first() {
        Some(row) if row.flag("cancel_requested")? => Ok(Lease::CancelRequested),
        Some(_) => Ok(Lease::Held),
        None => {
            task::get(s, attempt.task).await?;
            Err(StoreError::Superseded { attempt })
        }
    }
}

pub(crate) async fn intend(s: &mut Session, attempt: AttemptRef, commit: &str) -> StoreResult<()> {
    const INTEND: Sql = sql!("UPDATE attempt SET intent = $3 WHERE task_id = $1 AND number = $2");
    fence(s, attempt).await?;
    s.write(INTEND, args![attempt.task, attempt.number, commit])
        .await
}

/// What the last attempt that went silent was about to publish. Once the task was completed, nobody asks for what came
/// before that.
pub(crate) async fn intended(s: &mut Session, id: TaskId) -> StoreResult<Option<String>> {
    const LAST: Sql = sql!(
        "SELECT intent FROM attempt WHERE task_id = $1 AND intent IS NOT NULL ",
        "AND (ended IS NULL OR ended IN ('lost', 'released')) ",
        "AND number > (SELECT coalesce(max(number), 0) FROM attempt WHERE task_id = $1 AND ended = 'completed') ",
        "ORDER BY number DESC LIMIT 1"
    );
    task::get(s, id).await?;
    match s.row(LAST, args![id]).await? {
        Some(row) => row.maybe_text("intent"),
        None => Ok(None),
    }
}

/// How an attempt ended: by its own word, released or lost.
pub(crate) async fn ended(s: &mut Session, attempt: AttemptRef) -> StoreResult<Option<String>> {
    const HOW: Sql = sql!("SELECT ended FROM attempt WHERE task_id = $1 AND number = $2");
    match s.row(HOW, args![attempt.task, attempt.number]).await? {
        Some(row) => row.maybe_text("ended"),
        None => Ok(None),
    }
}

/// The end of an attempt.
pub(crate) struct End<'a> {
    pub(crate) how: Ending,
    /// Why it did not complete the task.
    pub(crate) error: Option<&'a str>,
    pub(crate) usage: Option<&'a Usage>,
}

/// Writes down how an attempt ended, and what it consumed.
pub(crate) async fn end(s: &mut Session, attempt: AttemptRef, end: End<'_>) -> StoreResult<()> {
    const END: Sql = sql!(
        "UPDATE attempt SET ended = $3, ended_at = $4, usage = $5, error = $6 ",
        "WHERE task_id = $1 AND number = $2"
    );
    let usage = end.usage.map(json).transpose()?;
    let now = s.now();
    let values = args![
        attempt.task,
        attempt.number,
        end.how.as_str(),
        now,
        usage.as_deref(),
        end.error,
    ];
    s.write(END, values).await
}

/// The attempts at a task, oldest first.
pub(crate) async fn list(s: &mut Session, id: TaskId) -> StoreResult<Vec<Attempt>> {
    const LIST: Sql = sql!(
        "SELECT number, worker, started_at, ended_at, ended, error, usage FROM attempt ",
        "WHERE task_id = $1 ORDER BY number LIMIT 10000"
    );
    task::get(s, id).await?;
    s.rows(LIST, args![id]).await?.iter().map(attempt).collect()
}

fn attempt(row: &Row) -> StoreResult<Attempt> {
    let has_usage = row.maybe_text("usage")?.is_some();
    let ended = row.maybe_text("ended")?;
    Ok(Attempt {
        number: row.small("number")?,
        worker: row.text("worker")?,
        started_at: moment(row.int("started_at")?),
        ended_at: row.maybe_int("ended_at")?.map(moment),
        outcome: ended.as_deref().and_then(Ending::named),
        error: row.maybe_text("error")?,
        usage: if has_usage {
            row.json("usage")?
        } else {
            Usage::default()
        },
    })
}
