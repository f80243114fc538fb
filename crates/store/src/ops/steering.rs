//! Steering: edits and pauses tasks, pauses workers, and stores the note of a project.

use windlass_tasks::{
    Dependency, MAX_NOTE_BYTES, MAX_PAUSE_REASON_BYTES, NewTask, ProjectId, StoreError,
    StoreResult, Task, TaskEdit, TaskId, TaskStatus, WorkerPause,
};

use super::{dependents, enqueue, new_task_rules, projects, tasks};
use crate::connection::{DbConnection, timestamp};
use crate::events::status;
use crate::sql::{Row, Sql, args, decode_error, json, or_zero, sql};
use crate::task_row::{self, TaskRow};

/// Means all projects in the table of pauses.
const ALL_PROJECTS: i64 = 0;

/// Edits a task that is not running.
pub(crate) async fn edit(db: &mut DbConnection, id: TaskId, edit: &TaskEdit) -> StoreResult<Task> {
    const EDIT: Sql = sql!(
        "UPDATE task SET title = $2, description = $3, priority = $4, workflow_step = $5, kind = $6, agent = $7, ",
        "max_attempts = $8, updated_at = $9, agent_settings = $10 WHERE id = $1"
    );
    if edit.dependencies.is_some() {
        tasks::lock_graph(db).await?;
    }
    let TaskRow { task: before, .. } = task_row::get_for_update(db, id).await?;
    if before.status == TaskStatus::InProgress {
        return Err(StoreError::Refused(format!(
            "task {id} is running: a task can be edited when no attempt is running"
        )));
    }
    if edit
        .expected
        .is_some_and(|expected| expected != before.updated_at)
    {
        return Err(StoreError::Refused(format!(
            "task {id} has changed since it was read: read it again and repeat the edit"
        )));
    }
    if edit.is_empty() {
        return Ok(before);
    }
    let mut task = before.clone();
    edit.apply(&mut task);
    new_task_rules::check(&[as_new(&task)])?;
    // An editor that saw the former version must notice this one, whatever the clock says.
    let former = i64::try_from(before.updated_at.0).unwrap_or(i64::MAX);
    let now = db.now().max(former.saturating_add(1));
    let settings = task.agent_settings.as_ref().map(json).transpose()?;
    let values = args![
        id,
        task.title.as_str(),
        task.description.as_str(),
        task.priority,
        task.workflow_step,
        task.kind.as_str(),
        task.agent.as_deref(),
        task.max_attempts,
        now,
        settings.as_deref(),
    ];
    db.execute(EDIT, values).await?;
    if let Some(on) = &edit.dependencies {
        replace_dependencies(db, id, on).await?;
    }
    // Subscribers read the task again, and workers look for a task that they can claim now.
    db.queue_event(status(&task, task.status, "worker"));
    Ok(task_row::get(db, id).await?.task)
}

/// Returns the request that would add this task, for the checks of requests.
fn as_new(task: &Task) -> NewTask {
    let dependencies = task.dependencies.iter().copied().map(Dependency::Task);
    NewTask {
        description: task.description.clone(),
        priority: task.priority,
        workflow_step: task.workflow_step,
        dependencies: dependencies.collect(),
        max_attempts: task.max_attempts,
        ..NewTask::new(task.project_id, task.title.clone())
    }
}

async fn replace_dependencies(db: &mut DbConnection, id: TaskId, on: &[TaskId]) -> StoreResult<()> {
    const REMOVE: Sql = sql!("DELETE FROM dependency WHERE task_id = $1");
    let mut on = on.to_vec();
    // A fixed order prevents deadlocks between concurrent transactions.
    on.sort_unstable();
    on.dedup();
    db.execute(REMOVE, args![id]).await?;
    for on in on {
        task_row::get(db, on).await?;
        tasks::check_acyclic(db, id, on).await?;
        enqueue::link(db, id, on).await?;
    }
    dependents::update_dependents(db, vec![id]).await
}

/// Sets or ends the pause of a task.
pub(crate) async fn pause(db: &mut DbConnection, id: TaskId, paused: bool) -> StoreResult<Task> {
    const PAUSE: Sql = sql!("UPDATE task SET paused = $2, updated_at = $3 WHERE id = $1");
    let TaskRow { task, .. } = task_row::get_for_update(db, id).await?;
    if paused && task.status.is_final() {
        return Err(StoreError::Refused(format!(
            "task {id} is {}: there is nothing to pause",
            task.status
        )));
    }
    if task.paused != paused {
        let now = db.now();
        db.execute(PAUSE, args![id, paused, now]).await?;
        db.queue_event(status(&task, task.status, "worker"));
    }
    Ok(task_row::get(db, id).await?.task)
}

/// Cancels every task that has not ended.
pub(crate) async fn cancel_all(
    db: &mut DbConnection,
    project: Option<ProjectId>,
) -> StoreResult<Vec<Task>> {
    const OPEN: Sql = sql!(
        "SELECT id FROM task WHERE status IN ('pending', 'in_progress', 'blocked') ",
        "AND ($1 = 0 OR project_id = $1) ORDER BY id"
    );
    if let Some(project) = project {
        projects::exists(db, project).await?;
    }
    let rows = db.fetch_all(OPEN, args![or_zero(project)]).await?;
    let mut cancelled = Vec::with_capacity(rows.len());
    for row in &rows {
        match tasks::cancel(db, row.id("id")?).await {
            Ok(task) => cancelled.push(task),
            // It ended after it was listed.
            Err(StoreError::Refused(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(cancelled)
}

fn worker_pause(row: &Row) -> StoreResult<WorkerPause> {
    let project = row.int("project_id")?;
    Ok(WorkerPause {
        project_id: (project != ALL_PROJECTS).then(|| project.into()),
        reason: row.text("reason")?,
        since: timestamp(row.int("since")?),
    })
}

/// Validates the reason for a pause.
pub(crate) fn check_reason(reason: &str) -> StoreResult<()> {
    check_size("the reason", reason, MAX_PAUSE_REASON_BYTES)
}

/// Validates a note.
pub(crate) fn check_note(note: &str) -> StoreResult<()> {
    check_size("the note", note, MAX_NOTE_BYTES)
}

fn check_size(what: &str, text: &str, limit: usize) -> StoreResult<()> {
    if text.len() > limit {
        let size = text.len();
        return Err(StoreError::Refused(format!(
            "{what} has {size} bytes; the limit is {limit}"
        )));
    }
    Ok(())
}

pub(crate) async fn pause_workers(
    db: &mut DbConnection,
    project: Option<ProjectId>,
    reason: &str,
) -> StoreResult<WorkerPause> {
    const PAUSE: Sql = sql!(
        "INSERT INTO worker_pause (project_id, reason, since) VALUES ($1, $2, $3) ",
        "ON CONFLICT (project_id) DO UPDATE SET reason = excluded.reason RETURNING project_id, reason, since"
    );
    if let Some(project) = project {
        projects::exists(db, project).await?;
    }
    let now = db.now();
    let values = args![or_zero(project), reason, now];
    match db.fetch_returning(PAUSE, values).await?.first() {
        Some(row) => worker_pause(row),
        None => Err(decode_error("worker_pause", "the insert returned no row")),
    }
}

pub(crate) async fn resume_workers(
    db: &mut DbConnection,
    project: Option<ProjectId>,
) -> StoreResult<bool> {
    const RESUME: Sql = sql!("DELETE FROM worker_pause WHERE project_id = $1 RETURNING project_id");
    let values = args![or_zero(project)];
    let resumed = !db.fetch_returning(RESUME, values).await?.is_empty();
    if resumed {
        wake_workers(db, project).await?;
    }
    Ok(resumed)
}

/// Tells waiting workers of each project that there may be a task to claim.
async fn wake_workers(db: &mut DbConnection, project: Option<ProjectId>) -> StoreResult<()> {
    const FIRST: Sql = sql!(
        "SELECT min(id) AS id FROM task WHERE status = 'pending' AND ($1 = 0 OR project_id = $1) GROUP BY project_id"
    );
    let values = args![or_zero(project)];
    for row in db.fetch_all(FIRST, values).await? {
        let TaskRow { task, .. } = task_row::get(db, row.id("id")?).await?;
        db.queue_event(status(&task, task.status, "worker"));
    }
    Ok(())
}

pub(crate) async fn worker_pauses(db: &mut DbConnection) -> StoreResult<Vec<WorkerPause>> {
    const ALL: Sql =
        sql!("SELECT project_id, reason, since FROM worker_pause ORDER BY project_id LIMIT 10000");
    let rows = db.fetch_all(ALL, args![]).await?;
    rows.iter().map(worker_pause).collect()
}

pub(crate) async fn note(db: &mut DbConnection, project: ProjectId) -> StoreResult<String> {
    const NOTE: Sql = sql!("SELECT note FROM project WHERE id = $1");
    match db.fetch_optional(NOTE, args![project]).await? {
        Some(row) => row.text("note"),
        None => Err(StoreError::not_found("project", project)),
    }
}

pub(crate) async fn set_note(
    db: &mut DbConnection,
    project: ProjectId,
    note: &str,
) -> StoreResult<()> {
    const SET: Sql = sql!("UPDATE project SET note = $2 WHERE id = $1");
    projects::exists(db, project).await?;
    db.execute(SET, args![project, note]).await
}
