//! Task rows, and fencing of attempts.

use windlass_core::Usage;
use windlass_tasks::{
    AttemptRef, Landed, ReviewDecision, StoreError, StoreResult, Task, TaskId, TaskStatus,
    WorkerKind,
};

use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, decode_error, sql};

/// The columns of a task; its dependencies are aggregated into one text.
macro_rules! columns {
    () => {
        "id, project_id, issue_id, title, description, status, priority, workflow_step, kind, agent, idempotency_key, \
         attempt, tries, max_attempts, output, unverified, needs_review, tests, edits_tests, fresh, paused, target, outdated, merges, \
         land, landed_commit, landed_at, landed_by, review, branch, usage, cancel_requested, held, created_at, \
         updated_at, completed_at, best_of, candidate_of, agent_settings, labels, \
         (SELECT string_agg(CAST(on_id AS TEXT), ',' ORDER BY on_id) FROM dependency WHERE task_id = task.id) AS needs"
    };
}
pub(crate) use columns;

const SELECT_TASK: Sql = sql!("SELECT ", columns!(), " FROM task WHERE id = $1");
const SELECT_TASK_FOR_UPDATE: Sql =
    sql!("SELECT ", columns!(), " FROM task WHERE id = $1"; lock " FOR NO KEY UPDATE OF task");

/// A task with the columns that only the store uses.
#[derive(Debug, Clone)]
pub(crate) struct TaskRow {
    pub(crate) task: Task,
    /// Number of attempts that count towards the limit.
    pub(crate) tries: u32,
    /// Cancellation of the running attempt was requested.
    pub(crate) cancel_requested: bool,
    /// The task is blocked by a dependency.
    pub(crate) held: bool,
}

/// Reads a row with [`columns!`].
pub(crate) fn from_row(row: &Row) -> StoreResult<TaskRow> {
    let status = row.text("status")?;
    let status = TaskStatus::from_name(&status).ok_or_else(|| decode_error("status", &status))?;
    let kind = row.text("kind")?;
    let usage = row.text("usage")?;
    let review = row.opt_text("review")?;
    let needs = row.opt_text("needs")?.unwrap_or_default();
    let numbers = needs
        .split(',')
        .filter(|part| !part.is_empty())
        .map(str::parse);
    let attempt = row.int_as("attempt")?;
    let fresh: u32 = row.int_as("fresh")?;
    let task = Task {
        id: row.id("id")?,
        project_id: row.id("project_id")?,
        issue_id: row.opt_id("issue_id")?,
        title: row.text("title")?,
        description: row.text("description")?,
        status,
        priority: row.int_as("priority")?,
        workflow_step: row.int_as("workflow_step")?,
        dependencies: numbers
            .collect::<Result<_, _>>()
            .map_err(|error| decode_error("dependency", error))?,
        kind: WorkerKind::from_name(&kind).ok_or_else(|| decode_error("kind", &kind))?,
        agent: row.opt_text("agent")?,
        agent_settings: row.opt_json("agent_settings")?,
        needs: row.json("labels")?,
        waiting: None,
        idempotency_key: row.opt_text("idempotency_key")?,
        attempt,
        max_attempts: row.int_as("max_attempts")?,
        output: row.opt_text("output")?,
        unverified: row.flag("unverified")?,
        needs_review: row.flag("needs_review")?,
        review: review
            .map(|name| {
                ReviewDecision::from_name(&name).ok_or_else(|| decode_error("review", &name))
            })
            .transpose()?,
        tests: row.json("tests")?,
        edits_tests: row.flag("edits_tests")?,
        // Until the next attempt starts.
        fresh: fresh > 0 && fresh == attempt,
        // An ended task does not wait for a worker.
        paused: row.flag("paused")? && !status.is_final(),
        best_of: row.opt_json("best_of")?,
        candidate_of: row.opt_id("candidate_of")?,
        land: row.flag("land")?,
        landed: landed(row)?,
        target: row.opt_text("target")?,
        outdated: row.flag("outdated")?,
        merges: row.flag("merges")?,
        branch: row.opt_text("branch")?,
        usage: if usage.is_empty() {
            Usage::default()
        } else {
            row.json("usage")?
        },
        created_at: timestamp(row.int("created_at")?),
        updated_at: timestamp(row.int("updated_at")?),
        completed_at: row.opt_int("completed_at")?.map(timestamp),
    };
    Ok(TaskRow {
        task,
        tries: row.int_as("tries")?,
        cancel_requested: row.flag("cancel_requested")?,
        held: row.flag("held")?,
    })
}

fn landed(row: &Row) -> StoreResult<Option<Landed>> {
    let Some(commit) = row.opt_text("landed_commit")? else {
        return Ok(None);
    };
    Ok(Some(Landed {
        commit,
        at: timestamp(row.opt_int("landed_at")?.unwrap_or(0)),
        by: row.opt_text("landed_by")?.unwrap_or_default(),
    }))
}

/// Reads a task.
pub(crate) async fn get(db: &mut DbConnection, id: TaskId) -> StoreResult<TaskRow> {
    match db.fetch_optional(SELECT_TASK, args![id]).await? {
        Some(row) => from_row(&row),
        None => Err(StoreError::not_found("task", id)),
    }
}

/// Reads a task and locks its row until the transaction ends.
pub(crate) async fn get_for_update(db: &mut DbConnection, id: TaskId) -> StoreResult<TaskRow> {
    match db.fetch_optional(SELECT_TASK_FOR_UPDATE, args![id]).await? {
        Some(row) => from_row(&row),
        None => Err(StoreError::not_found("task", id)),
    }
}

/// Returns the task if this attempt still holds it, and locks its row until the transaction ends.
pub(crate) async fn fence(db: &mut DbConnection, attempt: AttemptRef) -> StoreResult<TaskRow> {
    let row = get_for_update(db, attempt.task).await?;
    if row.task.attempt == attempt.number && row.task.status == TaskStatus::InProgress {
        Ok(row)
    } else {
        Err(StoreError::Superseded { attempt })
    }
}

/// Accepts events while the attempt holds its task, and after the attempt itself reported its outcome.
pub(crate) async fn fence_events(db: &mut DbConnection, attempt: AttemptRef) -> StoreResult<()> {
    const STATE: Sql = sql!(
        "SELECT task.attempt AS current, attempt.ended AS ended FROM task LEFT JOIN attempt ",
        "ON attempt.task_id = task.id AND attempt.number = $2 WHERE task.id = $1";
        lock " FOR NO KEY UPDATE OF task"
    );
    let Some(row) = db
        .fetch_optional(STATE, args![attempt.task, attempt.number])
        .await?
    else {
        return Err(StoreError::not_found("task", attempt.task));
    };
    let ended = row.opt_text("ended")?;
    let lost_or_released = matches!(ended.as_deref(), Some("lost" | "released"));
    if row.int("current")? == i64::from(attempt.number) && !lost_or_released {
        Ok(())
    } else {
        Err(StoreError::Superseded { attempt })
    }
}
