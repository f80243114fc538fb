//! A task's row, and the fence before it.

use windlass_core::Usage;
use windlass_core::task::{
    AttemptRef, StoreError, StoreResult, Task, TaskId, TaskStatus, WorkerKind,
};

use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, decode_error, sql};

/// What a task consists of, with its dependencies as one text.
macro_rules! columns {
    () => {
        "id, project_id, issue_id, title, description, status, priority, workflow_step, kind, agent, idempotency_key, \
         attempt, tries, max_attempts, output, unverified, branch, usage, cancel_requested, held, created_at, \
         updated_at, completed_at, \
         (SELECT string_agg(CAST(on_id AS TEXT), ',' ORDER BY on_id) FROM dependency WHERE task_id = task.id) AS needs"
    };
}
pub(crate) use columns;

const SELECT_TASK: Sql = sql!("SELECT ", columns!(), " FROM task WHERE id = $1");
const SELECT_TASK_FOR_UPDATE: Sql =
    sql!("SELECT ", columns!(), " FROM task WHERE id = $1"; lock " FOR NO KEY UPDATE OF task");

/// A task and what only the store knows about it.
#[derive(Debug, Clone)]
pub(crate) struct TaskRow {
    pub(crate) task: Task,
    /// The attempts that count towards the limit.
    pub(crate) tries: u32,
    /// Whether somebody asked for the attempt under way to stop.
    pub(crate) cancel_requested: bool,
    /// Whether it is blocked by a task that it depends on.
    pub(crate) held: bool,
}

/// Reads a row with [`columns!`].
pub(crate) fn from_row(row: &Row) -> StoreResult<TaskRow> {
    let status = row.text("status")?;
    let kind = row.text("kind")?;
    let usage = row.text("usage")?;
    let needs = row.opt_text("needs")?.unwrap_or_default();
    let numbers = needs
        .split(',')
        .filter(|part| !part.is_empty())
        .map(str::parse);
    let task = Task {
        id: row.int("id")?,
        project_id: row.int("project_id")?,
        issue_id: row.opt_int("issue_id")?,
        title: row.text("title")?,
        description: row.text("description")?,
        status: TaskStatus::from_name(&status).ok_or_else(|| decode_error("status", &status))?,
        priority: row.int_as("priority")?,
        workflow_step: row.int_as("workflow_step")?,
        dependencies: numbers
            .collect::<Result<_, _>>()
            .map_err(|error| decode_error("dependency", error))?,
        kind: WorkerKind::named(&kind).ok_or_else(|| decode_error("kind", &kind))?,
        agent: row.opt_text("agent")?,
        idempotency_key: row.opt_text("idempotency_key")?,
        attempt: row.int_as("attempt")?,
        max_attempts: row.int_as("max_attempts")?,
        output: row.opt_text("output")?,
        unverified: row.flag("unverified")?,
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

/// One task.
pub(crate) async fn get(s: &mut DbConnection, id: TaskId) -> StoreResult<TaskRow> {
    match s.fetch_optional(SELECT_TASK, args![id]).await? {
        Some(row) => from_row(&row),
        None => Err(StoreError::not_found("task", id)),
    }
}

/// One task, which nobody else changes before this transaction ends.
pub(crate) async fn get_for_update(s: &mut DbConnection, id: TaskId) -> StoreResult<TaskRow> {
    match s.fetch_optional(SELECT_TASK_FOR_UPDATE, args![id]).await? {
        Some(row) => from_row(&row),
        None => Err(StoreError::not_found("task", id)),
    }
}

/// The task of an attempt that still holds it; nobody else changes it before this transaction ends.
pub(crate) async fn fence(s: &mut DbConnection, attempt: AttemptRef) -> StoreResult<TaskRow> {
    let row = get_for_update(s, attempt.task).await?;
    if row.task.attempt == attempt.number && row.task.status == TaskStatus::InProgress {
        Ok(row)
    } else {
        Err(StoreError::Superseded { attempt })
    }
}

/// Lets messages pass while the attempt holds its task, and after it ended by its own word.
pub(crate) async fn fence_events(s: &mut DbConnection, attempt: AttemptRef) -> StoreResult<()> {
    const STATE: Sql = sql!(
        "SELECT task.attempt AS current, attempt.ended AS ended FROM task LEFT JOIN attempt ",
        "ON attempt.task_id = task.id AND attempt.number = $2 WHERE task.id = $1";
        lock " FOR NO KEY UPDATE OF task"
    );
    let Some(row) = s
        .fetch_optional(STATE, args![attempt.task, attempt.number])
        .await?
    else {
        return Err(StoreError::not_found("task", attempt.task));
    };
    let ended = row.opt_text("ended")?;
    let by_itself = !matches!(ended.as_deref(), Some("lost" | "released"));
    if row.int("current")? == i64::from(attempt.number) && by_itself {
        Ok(())
    } else {
        Err(StoreError::Superseded { attempt })
    }
}
