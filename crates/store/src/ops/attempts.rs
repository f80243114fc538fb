//! What an attempt says while it works: that it lives, and what it is about to publish.

use std::time::Duration;

use windlass_core::Usage;
use windlass_core::task::{AttemptRef, Lease, StoreError, StoreResult, TaskId};

use super::claim::millis;
use crate::session::Session;
use crate::sql::{Sql, args, json, sql};
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

/// Writes down how an attempt ended, and what it consumed.
pub(crate) async fn end(
    s: &mut Session,
    attempt: AttemptRef,
    how: &str,
    usage: Option<&Usage>,
) -> StoreResult<()> {
    const END: Sql = sql!(
        "UPDATE attempt SET ended = $3, ended_at = $4, usage = $5 WHERE task_id = $1 AND number = $2"
    );
    let usage = usage.map(json).transpose()?;
    let now = s.now();
    s.write(
        END,
        args![attempt.task, attempt.number, how, now, usage.as_deref()],
    )
    .await
}
