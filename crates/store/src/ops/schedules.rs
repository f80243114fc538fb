//! Schedules, and the tasks that they add.

use windlass_core::Timestamp;
use windlass_tasks::{
    DueRun, MAX_SCHEDULES, NewSchedule, NewTask, ProjectId, Schedule, ScheduleId, StoreError,
    StoreResult, Task, TaskStatus,
};

use super::{enqueue, new_task_rules, projects};
use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, decode_error, json, or_zero, sql};
use crate::task_row;

/// The maximum length of a cron expression and of the name of a time zone, in bytes.
const MAX_NAME_BYTES: usize = 200;

macro_rules! columns {
    () => {
        "id, project_id, cron, zone, task, paused, next_at, last_at, last_task, created_at"
    };
}

const ONE: Sql =
    sql!("SELECT ", columns!(), " FROM schedule WHERE id = $1"; lock " FOR NO KEY UPDATE");

fn schedule(row: &Row) -> StoreResult<Schedule> {
    Ok(Schedule {
        id: row.id("id")?,
        project_id: row.id("project_id")?,
        cron: row.text("cron")?,
        zone: row.text("zone")?,
        task: row.json("task")?,
        paused: row.flag("paused")?,
        next_at: timestamp(row.int("next_at")?),
        last_at: row.opt_int("last_at")?.map(timestamp),
        last_task: row.opt_id("last_task")?,
        created_at: timestamp(row.int("created_at")?),
    })
}

fn millis(at: Timestamp) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

/// Validates a new schedule.
pub(crate) fn check(new: &NewSchedule) -> StoreResult<()> {
    new_task_rules::check(std::slice::from_ref(&new.task))?;
    if !new.task.dependencies.is_empty() || new.task.idempotency_key.is_some() {
        return Err(StoreError::Refused(
            "a scheduled task cannot have dependencies or an idempotency key".to_owned(),
        ));
    }
    if new.cron.len() > MAX_NAME_BYTES || new.zone.len() > MAX_NAME_BYTES {
        return Err(StoreError::Refused(format!(
            "a cron expression and a time zone have at most {MAX_NAME_BYTES} bytes"
        )));
    }
    Ok(())
}

pub(crate) async fn add(db: &mut DbConnection, new: &NewSchedule) -> StoreResult<Schedule> {
    const COUNT: Sql = sql!("SELECT count(*) AS n FROM schedule");
    const ADD: Sql = sql!(
        "INSERT INTO schedule (project_id, cron, zone, task, next_at, created_at) VALUES ($1, $2, $3, $4, $5, $6) ",
        "RETURNING ",
        columns!()
    );
    projects::exists(db, new.task.project_id).await?;
    let count = match db.fetch_optional(COUNT, args![]).await? {
        Some(row) => row.int_as("n")?,
        None => 0,
    };
    if MAX_SCHEDULES <= count {
        return Err(StoreError::Refused(format!(
            "there are {count} schedules, which is the limit: remove one"
        )));
    }
    let task = json(&new.task)?;
    let values = args![
        new.task.project_id,
        new.cron.as_str(),
        new.zone.as_str(),
        task.as_str(),
        millis(new.next_at),
        db.now(),
    ];
    match db.fetch_returning(ADD, values).await?.first() {
        Some(row) => schedule(row),
        None => Err(decode_error("schedule", "the insert returned no row")),
    }
}

pub(crate) async fn list(
    db: &mut DbConnection,
    project: Option<ProjectId>,
) -> StoreResult<Vec<Schedule>> {
    const LIST: Sql = sql!(
        "SELECT ",
        columns!(),
        " FROM schedule WHERE ($1 = 0 OR project_id = $1) ORDER BY id LIMIT 10000"
    );
    let rows = db.fetch_all(LIST, args![or_zero(project)]).await?;
    rows.iter().map(schedule).collect()
}

async fn get(db: &mut DbConnection, id: ScheduleId) -> StoreResult<Schedule> {
    match db.fetch_optional(ONE, args![id]).await? {
        Some(row) => schedule(&row),
        None => Err(StoreError::not_found("schedule", id)),
    }
}

/// Pauses a schedule, or resumes it at a time.
pub(crate) async fn pause(
    db: &mut DbConnection,
    id: ScheduleId,
    next: Option<Timestamp>,
) -> StoreResult<Schedule> {
    const SET: Sql = sql!("UPDATE schedule SET paused = $2, next_at = $3 WHERE id = $1");
    let before = get(db, id).await?;
    let next_at = millis(next.unwrap_or(before.next_at));
    db.execute(SET, args![id, next.is_none(), next_at]).await?;
    get(db, id).await
}

pub(crate) async fn remove(db: &mut DbConnection, id: ScheduleId) -> StoreResult<Schedule> {
    const REMOVE: Sql = sql!("DELETE FROM schedule WHERE id = $1");
    let removed = get(db, id).await?;
    db.execute(REMOVE, args![id]).await?;
    Ok(removed)
}

/// Adds the task for one due time.
pub(crate) async fn run(db: &mut DbConnection, run: DueRun) -> StoreResult<Option<Task>> {
    const MOVE: Sql = sql!("UPDATE schedule SET next_at = $2 WHERE id = $1");
    const RAN: Sql = sql!("UPDATE schedule SET last_at = $2, last_task = $3 WHERE id = $1");
    let found = match get(db, run.schedule).await {
        Ok(found) => found,
        Err(StoreError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    if found.paused || found.next_at != run.due {
        return Ok(None);
    }
    if run.next <= run.due {
        return Err(StoreError::Refused(format!(
            "schedule {} would be due again at the same time",
            run.schedule
        )));
    }
    db.execute(MOVE, args![run.schedule, millis(run.next)])
        .await?;
    if let Some(last) = found.last_task {
        let task = task_row::get(db, last).await?.task;
        if task.status == TaskStatus::Pending && task.attempt == 0 {
            return Ok(None);
        }
    }
    let task = NewTask {
        idempotency_key: Some(format!("schedule-{}-{}", run.schedule, run.due)),
        ..found.task
    };
    let added = enqueue::enqueue(db, &[task], false).await?;
    let Some(added) = added.into_iter().next() else {
        return Ok(None);
    };
    let values = args![run.schedule, millis(run.due), added.task.id];
    db.execute(RAN, values).await?;
    Ok(added.fresh.then_some(added.task))
}
