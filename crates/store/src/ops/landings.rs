//! Landing queues: what waits, and who has it.

use std::time::Duration;

use windlass_tasks::{
    Landing, LandingFilter, LandingId, LandingState, LandingToken, NewLanding, ProjectId,
    StoreError, StoreResult, Task, TaskId, TaskStatus,
};

use super::claim::millis;
use crate::connection::{DbConnection, timestamp};
use crate::events::status;
use crate::sql::{Row, Sql, args, decode_error, json, or_zero, sql};
use crate::task_row::{self, TaskRow, columns};

/// Maximum number of entries that are read to find the next ones.
pub(crate) const MAX_READ: u32 = 1_000;
/// Maximum number of commits that are remembered for one entry.
const MAX_INTENTS: usize = 100;
/// Maximum size of a branch name, and of the name of a person or worker.
const MAX_NAME_BYTES: usize = 1 << 10;

/// The columns of an entry; the dependencies that have not landed are aggregated into one text.
macro_rules! landing_columns {
    () => {
        "landings.id AS id, landings.project_id AS project_id, landings.task_id AS task_id, \
         landings.attempt AS attempt, landings.target AS target, requested_by, state, worker, token, intents, landed_as, reason, cases, \
         landings.created_at AS created_at, ended_at, \
         (SELECT string_agg(CAST(on_id AS TEXT), ',' ORDER BY on_id) FROM dependency JOIN task AS needed \
         ON needed.id = on_id WHERE dependency.task_id = landings.task_id AND needed.landed_commit IS NULL) AS needs"
    };
}

pub(crate) use landing_columns;

/// An entry, and the fencing token of the worker that has it.
#[derive(Debug)]
pub(crate) struct LandingRow {
    pub(crate) landing: Landing,
    pub(crate) token: LandingToken,
}

pub(crate) fn from_row(row: &Row) -> StoreResult<LandingRow> {
    let state = row.text("state")?;
    let state = LandingState::from_name(&state).ok_or_else(|| decode_error("state", &state))?;
    let needs = row.opt_text("needs")?.unwrap_or_default();
    let needs = needs.split(',').filter(|part| !part.is_empty());
    let waits_for: Result<Vec<TaskId>, _> = needs.map(str::parse).collect();
    let is_queued = state == LandingState::Queued;
    let landing = Landing {
        id: row.id("id")?,
        project_id: row.id("project_id")?,
        task: row.id("task_id")?,
        attempt: row.int_as("attempt")?,
        target: row.text("target")?,
        by: row.text("requested_by")?,
        state,
        worker: row.opt_text("worker")?,
        intents: row.json("intents")?,
        waits_for: match waits_for {
            Ok(tasks) if is_queued => tasks,
            Ok(_) => Vec::new(),
            Err(error) => return Err(decode_error("dependency", error)),
        },
        commit: row.opt_text("landed_as")?,
        reason: row.opt_text("reason")?,
        cases: row.json("cases")?,
        created_at: timestamp(row.int("created_at")?),
        ended_at: row.opt_int("ended_at")?.map(timestamp),
    };
    Ok(LandingRow {
        landing,
        token: row.id("token")?,
    })
}

/// Sets whether a task lands when it is proved. Without, a waiting entry is removed.
pub(crate) async fn set_land(db: &mut DbConnection, id: TaskId, land: bool) -> StoreResult<Task> {
    const SET: Sql = sql!("UPDATE task SET land = $2, updated_at = $3 WHERE id = $1");
    let TaskRow { task, .. } = task_row::get_for_update(db, id).await?;
    if task.land != land {
        let now = db.now();
        db.execute(SET, args![id, land, now]).await?;
    }
    if !land {
        remove_queued(db, id).await?;
    }
    db.queue_event(status(&task, task.status, "worker"));
    Ok(task_row::get(db, id).await?.task)
}

/// Removes the waiting entry of a task, unless its branch may have moved: then the next worker finds out.
pub(crate) async fn remove_queued(db: &mut DbConnection, id: TaskId) -> StoreResult<()> {
    const REMOVE: Sql =
        sql!("DELETE FROM landings WHERE task_id = $1 AND state = 'queued' AND intents = '[]'");
    db.execute(REMOVE, args![id]).await
}

pub(crate) async fn due(
    db: &mut DbConnection,
    project: Option<ProjectId>,
) -> StoreResult<Vec<Task>> {
    const DUE: Sql = sql!(
        "SELECT ",
        columns!(),
        " FROM task"; index "task_land";
        "WHERE land = 1 AND status = 'completed' AND landed_commit IS NULL AND needs_review = 0 ",
        "AND outdated = 0 AND unverified = 0 AND candidate_of IS NULL AND ($1 = 0 OR project_id = $1) ",
        "AND NOT EXISTS (SELECT 1 FROM landings ",
        "WHERE landings.task_id = task.id AND (state = 'landing' OR (state = 'queued' ",
        "AND (landings.attempt = task.attempt OR intents <> '[]')))) ORDER BY id LIMIT $2"
    );
    let rows = db.fetch_all(DUE, args![or_zero(project), MAX_READ]).await?;
    rows.iter()
        .map(|row| Ok(task_row::from_row(row)?.task))
        .collect()
}

/// Checks that the change of a task can be landed, or was.
pub(crate) async fn ready_task(db: &mut DbConnection, new: &NewLanding) -> StoreResult<Task> {
    let id = new.task;
    let TaskRow { task, .. } = task_row::get_for_update(db, id).await?;
    if new.target.is_empty() || new.target.len().max(new.by.len()) > MAX_NAME_BYTES {
        return Err(StoreError::Refused(format!(
            "the branch and the person of a landing need names of at most {MAX_NAME_BYTES} bytes"
        )));
    }
    if task.status != TaskStatus::Completed {
        return Err(StoreError::Refused(format!(
            "task {id} is {}: only the change of a completed task can land",
            task.status
        )));
    }
    Ok(task)
}

pub(crate) async fn enqueue(db: &mut DbConnection, new: &NewLanding) -> StoreResult<Landing> {
    const INSERT: Sql = sql!(
        "INSERT INTO landings (project_id, task_id, attempt, target, requested_by, state, created_at) ",
        "VALUES ($1, $2, $3, $4, $5, 'queued', $6)"
    );
    const UPDATE: Sql = sql!(
        "UPDATE landings SET attempt = $2, target = $3, requested_by = $4 WHERE id = $1 AND state = 'queued'"
    );
    const SET: Sql = sql!("UPDATE task SET land = 1, updated_at = $2 WHERE id = $1");
    let task = ready_task(db, new).await?;
    let id = task.id;
    if let Some(landed) = &task.landed {
        return Err(StoreError::Refused(format!(
            "task {id} has already landed with commit {}",
            landed.commit
        )));
    }
    if task.needs_review {
        return Err(StoreError::Refused(format!(
            "the proof of task {id} has warnings: read them with `windlass proof {id}`, then accept them"
        )));
    }
    let now = db.now();
    match open_entry(db, id).await? {
        Some(open) if open.landing.state == LandingState::Landing => return Ok(open.landing),
        Some(open) => {
            let same = open.landing.attempt == task.attempt && open.landing.target == new.target;
            // If the branch may have moved, the entry is about that attempt and branch.
            if !same && open.landing.intents.is_empty() {
                let values = args![
                    open.landing.id,
                    task.attempt,
                    new.target.as_str(),
                    new.by.as_str()
                ];
                db.execute(UPDATE, values).await?;
            }
        }
        None => {
            let values = args![
                task.project_id,
                id,
                task.attempt,
                new.target.as_str(),
                new.by.as_str(),
                now,
            ];
            db.execute(INSERT, values).await?;
        }
    }
    db.execute(SET, args![id, now]).await?;
    db.queue_event(status(&task, task.status, "worker"));
    match open_entry(db, id).await? {
        Some(open) => Ok(open.landing),
        None => Err(StoreError::not_found("landing of task", id)),
    }
}

/// Returns the entry of a task that is queued or landing.
pub(crate) async fn open_entry(
    db: &mut DbConnection,
    task: TaskId,
) -> StoreResult<Option<LandingRow>> {
    const OPEN: Sql = sql!(
        "SELECT ",
        landing_columns!(),
        " FROM landings WHERE landings.task_id = $1 AND state IN ('queued', 'landing')"
    );
    let row = db.fetch_optional(OPEN, args![task]).await?;
    row.map(|row| from_row(&row)).transpose()
}

pub(crate) async fn heartbeat(
    db: &mut DbConnection,
    token: LandingToken,
    lease: Duration,
) -> StoreResult<()> {
    const RENEW: Sql = sql!(
        "UPDATE landings SET lease_ms = $2, lease_until = $3, lease_clock = $4, lease_beat = lease_beat + 1, ",
        "lease_at = $5 WHERE token = $1 AND state = 'landing' RETURNING id"
    );
    let lease = millis(lease);
    let time = db.lease_time();
    let values = args![token, lease, time.now + lease, time.clock, db.now()];
    if db.fetch_returning(RENEW, values).await?.is_empty() {
        return Err(StoreError::LandingLost);
    }
    Ok(())
}

/// Returns the entry if this token still has it, and locks its row until the transaction ends.
pub(crate) async fn fence(
    db: &mut DbConnection,
    token: LandingToken,
    entry: LandingId,
) -> StoreResult<LandingRow> {
    let row = get_for_update(db, entry).await?;
    if row.token == token && row.landing.state == LandingState::Landing {
        Ok(row)
    } else {
        Err(StoreError::LandingLost)
    }
}

/// Reads an entry and locks its row until the transaction ends.
pub(crate) async fn get_for_update(
    db: &mut DbConnection,
    entry: LandingId,
) -> StoreResult<LandingRow> {
    const SELECT: Sql = sql!(
        "SELECT ",
        landing_columns!(),
        " FROM landings WHERE landings.id = $1";
        lock " FOR NO KEY UPDATE OF landings"
    );
    match db.fetch_optional(SELECT, args![entry]).await? {
        Some(row) => from_row(&row),
        None => Err(StoreError::not_found("landing", entry)),
    }
}

pub(crate) async fn record_intent(
    db: &mut DbConnection,
    token: LandingToken,
    entries: &[LandingId],
    commit: &str,
) -> StoreResult<()> {
    const RECORD: Sql = sql!("UPDATE landings SET intents = $2 WHERE id = $1");
    for entry in entries {
        let mut intents = fence(db, token, *entry).await?.landing.intents;
        if !intents.iter().any(|known| known == commit) {
            intents.push(commit.to_owned());
        }
        let surplus = intents.len().saturating_sub(MAX_INTENTS);
        intents.drain(..surplus);
        db.execute(RECORD, args![*entry, json(&intents)?]).await?;
    }
    Ok(())
}

pub(crate) async fn release(
    db: &mut DbConnection,
    token: LandingToken,
    reason: Option<&str>,
) -> StoreResult<()> {
    const RELEASE: Sql = sql!(
        "UPDATE landings SET state = 'queued', reason = $2 WHERE token = $1 AND state = 'landing'"
    );
    db.execute(RELEASE, args![token, reason]).await
}

/// Lists entries, oldest first, of many the newest.
pub(crate) async fn list(
    db: &mut DbConnection,
    filter: &LandingFilter,
) -> StoreResult<Vec<Landing>> {
    const LIST: Sql = sql!(
        "SELECT ",
        landing_columns!(),
        " FROM landings WHERE ($1 = 0 OR landings.project_id = $1) AND ($2 = 0 OR landings.task_id = $2) ",
        "AND ($3 = 0 OR state IN ('queued', 'landing')) ORDER BY landings.id DESC LIMIT $4"
    );
    let values = args![
        or_zero(filter.project_id),
        or_zero(filter.task),
        filter.open,
        MAX_READ,
    ];
    let rows = db.fetch_all(LIST, values).await?;
    rows.iter()
        .rev()
        .map(|row| Ok(from_row(row)?.landing))
        .collect()
}
