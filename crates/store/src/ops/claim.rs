//! Claims the next task. This is `fetch_next_task` of the worker's contract.

use std::time::Duration;

use windlass_tasks::{AttemptRef, Claim, Claimed, StoreResult, TaskStatus};

use crate::connection::DbConnection;
use crate::events::{WORKER_OF_KIND, status, status_parts};
use crate::merge::{MergeOutput, MergedResults};
use crate::sql::{Row, Sql, args, merged_sql, sql};
use crate::task_row::{self, columns};

/// Workers of a paused project claim only a task that they name. The row of project 0 pauses all.
macro_rules! not_paused {
    () => {
        "AND NOT EXISTS (SELECT 1 FROM worker_pause WHERE worker_pause.project_id IN (0, task.project_id)) "
    };
}

/// Selects the next tasks: highest priority, then lowest step, then lowest id, among the tasks without unmet
/// dependencies. `$kinds` is the text of the kinds. Tasks that another transaction is claiming are skipped.
macro_rules! next_ids {
    ($kinds:literal, $limit:literal, $($only:expr),+) => {
        concat!(
            "SELECT id FROM task WHERE status = 'pending' AND waiting = 0 AND paused = 0 ",
            "AND (", $kinds, " = '' OR ", $kinds, " LIKE '%,' || kind || ',%') ",
            $($only,)+
            " ORDER BY priority, workflow_step, id LIMIT ", $limit
        )
    };
}

/// Gives a task to a worker, until the end of the lease.
macro_rules! start {
    ($now:literal, $lease:literal, $until:literal, $clock:literal) => {
        concat!(
            "UPDATE task SET status = 'in_progress', attempt = attempt + 1, tries = tries + 1, lease_ms = ", $lease,
            ", lease_until = ", $until, ", lease_clock = ", $clock, ", lease_beat = lease_beat + 1, lease_at = ", $now,
            ", cancel_requested = 0, output = NULL, updated_at = ", $now, " "
        )
    };
}

macro_rules! next {
    ($($only:expr),+) => {
        sql!(
            start!("$1", "$2", "$4", "$5"),
            "WHERE id = (",
            next_ids!("$3", "1", $($only),+);
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

/// Claims several tasks.
macro_rules! next_merged {
    ($($only:expr),+) => {
        merged_sql!(
            synchronous_commit "off";
            "picked AS MATERIALIZED (",
            next_ids!("$7", "$10", $($only),+),
            " FOR NO KEY UPDATE SKIP LOCKED), changed AS (",
            start!("clock.now", "$5", "$6", "$8"),
            "FROM picked, clock WHERE task.id = picked.id RETURNING task.*), ",
            "opened AS (INSERT INTO attempt (task_id, number, worker, started_at) ",
            "SELECT id, attempt, $9, clock.now FROM changed, clock)"
        )
    };
}

const CLAIM_MERGED: Sql = next_merged!(not_paused!());
const CLAIM_MERGED_IN_PROJECT: Sql = next_merged!(not_paused!(), "AND project_id = $11");

/// Minimum and maximum duration of a lease.
const LEASE_RANGE: (Duration, Duration) =
    (Duration::from_millis(1), Duration::from_secs(24 * 60 * 60));

/// Returns the lease in milliseconds, clamped to the allowed range.
pub(crate) fn millis(lease: Duration) -> i64 {
    let (min, max) = LEASE_RANGE;
    i64::try_from(lease.clamp(min, max).as_millis()).unwrap_or(i64::MAX)
}

/// Returns the kinds as the statements compare them.
fn kinds_text(claim: &Claim) -> String {
    let kinds: Vec<&str> = claim.kinds.iter().map(|kind| kind.as_str()).collect();
    if kinds.is_empty() {
        String::new()
    } else {
        format!(",{},", kinds.join(","))
    }
}

pub(crate) async fn claim(db: &mut DbConnection, claim: &Claim) -> StoreResult<Option<Claimed>> {
    let kinds = kinds_text(claim);
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
    let claimed = claimed(row)?;
    insert_attempt(db, claimed.attempt, &claim.worker).await?;
    let task = &claimed.task;
    db.queue_event(status(task, TaskStatus::InProgress, task.kind.agent_id()));
    Ok(Some(claimed))
}

fn claimed(row: &Row) -> StoreResult<Claimed> {
    let task = task_row::from_row(row)?.task;
    let attempt = AttemptRef {
        task: task.id,
        number: task.attempt,
    };
    Ok(Claimed { task, attempt })
}

/// Claims up to `count` tasks in one statement, for callers with the same claim, which names no task.
pub(crate) async fn claim_merged(
    db: &mut DbConnection,
    skew: i64,
    claim: &Claim,
    count: usize,
) -> StoreResult<MergedResults> {
    let [before, between, after] = status_parts(TaskStatus::InProgress, WORKER_OF_KIND)?;
    let lease = millis(claim.lease);
    let time = db.lease_time();
    let mut values = args![skew, before, between, after, lease, time.now + lease];
    let limit = u32::try_from(count).unwrap_or(u32::MAX);
    values.extend(args![
        kinds_text(claim),
        time.clock,
        claim.worker.as_str(),
        limit
    ]);
    let next = match claim.project_id {
        None => CLAIM_MERGED,
        Some(project) => {
            values.extend(args![project]);
            CLAIM_MERGED_IN_PROJECT
        }
    };
    let rows = db.fetch_returning(next, values).await?;
    let found = rows.iter().map(claimed);
    let mut found: Vec<Claimed> = found.collect::<StoreResult<_>>()?;
    found.sort_by_key(|Claimed { task, .. }| (task.priority, task.workflow_step, task.id));
    let found = found
        .into_iter()
        .map(|claimed| Some(MergeOutput::Claimed(Some(claimed))));
    let mut outputs: Vec<Option<MergeOutput>> = found.collect();
    outputs.resize_with(count, || Some(MergeOutput::Claimed(None)));
    MergedResults::new(outputs, &rows)
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
