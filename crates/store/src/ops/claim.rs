//! Claims the next task. This is `fetch_next_task` of the worker's contract.

use std::time::Duration;

use windlass_tasks::{AttemptRef, Claim, Claimed, StoreResult, TaskStatus};

use crate::connection::DbConnection;
use crate::events::status;
use crate::sql::{Sql, args, sql};
use crate::task_row::{self, columns};

/// Workers of a paused project claim only a task that they name. The row of project 0 pauses all.
macro_rules! not_paused {
    () => {
        "AND NOT EXISTS (SELECT 1 FROM worker_pause WHERE worker_pause.project_id IN (0, task.project_id)) "
    };
}

/// Orders by highest priority, then lowest step, then lowest id, among the tasks without unmet dependencies.
/// Tasks that another transaction is claiming are skipped.
macro_rules! next {
    ($($only:expr),+) => {
        sql!(
            "UPDATE task SET status = 'in_progress', attempt = attempt + 1, tries = tries + 1, lease_ms = $2, ",
            "lease_until = $4, lease_clock = $5, lease_beat = lease_beat + 1, lease_at = $1, cancel_requested = 0, output = NULL, updated_at = $1 ",
            "WHERE id = (SELECT id FROM task WHERE status = 'pending' AND waiting = 0 AND paused = 0 ",
            "AND ($3 = '' OR $3 LIKE '%,' || kind || ',%') ",
            $($only,)+
            " ORDER BY priority, workflow_step, id LIMIT 1";
            lock " FOR NO KEY UPDATE SKIP LOCKED";
            ") RETURNING ",
            columns!()
        )
    };
}

const CLAIM_ANY: Sql = next!(not_paused!());
const CLAIM_IN_PROJECT: Sql = next!(not_paused!(), "AND project_id = $6");
const CLAIM_TASK: Sql = next!("AND id = $6");
const CLAIM_TASK_IN_PROJECT: Sql = next!("AND id = $6 AND project_id = $7");

/// Minimum and maximum duration of a lease.
const LEASE_RANGE: (Duration, Duration) =
    (Duration::from_millis(1), Duration::from_secs(24 * 60 * 60));

/// Returns the lease in milliseconds, clamped to the allowed range.
pub(crate) fn millis(lease: Duration) -> i64 {
    let (min, max) = LEASE_RANGE;
    i64::try_from(lease.clamp(min, max).as_millis()).unwrap_or(i64::MAX)
}

pub(crate) async fn claim(db: &mut DbConnection, claim: &Claim) -> StoreResult<Option<Claimed>> {
    let kinds: Vec<&str> = claim.kinds.iter().map(|kind| kind.as_str()).collect();
    let kinds = if kinds.is_empty() {
        String::new()
    } else {
        format!(",{},", kinds.join(","))
    };
    let lease = millis(claim.lease);
    let time = db.lease_time();
    let mut values = args![db.now(), lease, kinds, time.now + lease, time.clock];
    let next = match (claim.task, claim.project_id) {
        (None, None) => CLAIM_ANY,
        (None, Some(project)) => {
            values.extend(args![project]);
            CLAIM_IN_PROJECT
        }
        (Some(task), None) => {
            values.extend(args![task]);
            CLAIM_TASK
        }
        (Some(task), Some(project)) => {
            values.extend(args![task, project]);
            CLAIM_TASK_IN_PROJECT
        }
    };
    let rows = db.fetch_returning(next, values).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let task = task_row::from_row(row)?.task;
    let attempt = AttemptRef {
        task: task.id,
        number: task.attempt,
    };
    insert_attempt(db, attempt, &claim.worker).await?;
    db.queue_event(status(&task, TaskStatus::InProgress, task.kind.agent_id()));
    Ok(Some(Claimed { task, attempt }))
}

async fn insert_attempt(
    db: &mut DbConnection,
    attempt: AttemptRef,
    worker: &str,
) -> StoreResult<()> {
    const INSERT: Sql =
        sql!("INSERT INTO attempt (task_id, number, worker, started_at) VALUES ($1, $2, $3, $4)");
    let now = db.now();
    db.execute(INSERT, args![attempt.task, attempt.number, worker, now])
        .await
}
