//! Candidates of a task: several tasks do the same, and the best one is chosen.

use windlass_core::Usage;
use windlass_tasks::{
    AttemptRef, MAX_CANDIDATES, NewTask, StoreError, StoreResult, Task, TaskId, TaskStatus,
};

use crate::connection::DbConnection;
use crate::events::status;
use crate::sql::{Sql, args, json, sql};
use crate::task_row;

/// Maximum size of a rubric.
const MAX_RUBRIC_BYTES: usize = 16 << 10;

/// Validates the choice of a new task.
pub(crate) fn check(new: &NewTask) -> StoreResult<()> {
    let Some(best_of) = &new.best_of else {
        return Ok(());
    };
    let count = best_of.agents.len();
    if !(2..=MAX_CANDIDATES).contains(&count) {
        return Err(StoreError::Refused(format!(
            "{:?} has {count} candidates; it must have 2 to {MAX_CANDIDATES}",
            new.title
        )));
    }
    let rubric = best_of.rubric.as_ref().map_or(0, String::len);
    if rubric > MAX_RUBRIC_BYTES {
        return Err(StoreError::Refused(format!(
            "the rubric has {rubric} bytes; the limit is {MAX_RUBRIC_BYTES}"
        )));
    }
    Ok(())
}

/// Returns the candidates of a new task.
pub(crate) fn new_candidates(new: &NewTask) -> Vec<NewTask> {
    let agents = new.best_of.iter().flat_map(|best_of| &best_of.agents);
    agents
        .map(|agent| NewTask {
            agent: agent.clone().or_else(|| new.agent.clone()),
            best_of: None,
            idempotency_key: None,
            ..new.clone()
        })
        .collect()
}

/// Stores that a task has candidates.
pub(crate) async fn mark_parent(
    db: &mut DbConnection,
    task: &Task,
    new: &NewTask,
) -> StoreResult<()> {
    const MARK: Sql = sql!("UPDATE task SET best_of = $2 WHERE id = $1");
    let best_of = new.best_of.as_ref().map(json).transpose()?;
    db.execute(MARK, args![task.id, best_of.as_deref()]).await
}

/// Stores that a task is a candidate.
pub(crate) async fn mark_candidate(
    db: &mut DbConnection,
    candidate: TaskId,
    parent: TaskId,
) -> StoreResult<()> {
    const MARK: Sql = sql!("UPDATE task SET candidate_of = $2 WHERE id = $1");
    db.execute(MARK, args![candidate, parent]).await
}

/// Locks the task that this one is a candidate of, so that all transactions lock it before its candidates.
pub(crate) async fn lock_parent(db: &mut DbConnection, task: TaskId) -> StoreResult<()> {
    const LOCK: Sql = sql!(
        "SELECT id FROM task WHERE id = (SELECT candidate_of FROM task WHERE id = $1)";
        lock " FOR NO KEY UPDATE"
    );
    db.lock(LOCK, args![task]).await
}

/// Returns the number of candidates that a task waits for.
pub(crate) async fn unfinished(db: &mut DbConnection, task: &Task) -> StoreResult<i64> {
    // A candidate that asks a person has ended, too: the others need not wait for the answer.
    const COUNT: Sql = sql!(
        "SELECT coalesce(sum(CASE WHEN status IN ('pending', 'in_progress') OR (status = 'blocked' AND held = 1) ",
        "THEN 1 ELSE 0 END), 0) AS open, ",
        "coalesce(sum(CASE WHEN status = 'completed' AND unverified = 0 AND needs_review = 0 THEN 1 ELSE 0 END), 0) AS clean ",
        "FROM task WHERE candidate_of = $1"
    );
    let Some(best_of) = &task.best_of else {
        return Ok(0);
    };
    let Some(row) = db.fetch_optional(COUNT, args![task.id]).await? else {
        return Ok(0);
    };
    if best_of.first && row.int("clean")? > 0 {
        return Ok(0);
    }
    row.int("open")
}

/// Gives the agent, the proof and the change of a candidate to its task. Returns the candidate.
pub(crate) async fn choose(
    db: &mut DbConnection,
    attempt: AttemptRef,
    winner: TaskId,
) -> StoreResult<Task> {
    const PROOF: Sql = sql!(
        "INSERT INTO proof (task_id, attempt, body) SELECT $1, $2, body FROM proof WHERE task_id = $3 ",
        "ON CONFLICT (task_id) DO UPDATE SET attempt = excluded.attempt, body = excluded.body"
    );
    const CHANGE: Sql = sql!(
        "UPDATE attempt SET change_commit = (SELECT change_commit FROM attempt WHERE task_id = $3 ",
        "AND ended = 'completed' ORDER BY number DESC LIMIT 1), ",
        "session = (SELECT session FROM attempt WHERE task_id = $3 ",
        "AND ended = 'completed' ORDER BY number DESC LIMIT 1) WHERE task_id = $1 AND number = $2"
    );
    const CHOSEN: Sql = sql!("UPDATE task SET agent = $2, best_of = NULL WHERE id = $1");
    let won = task_row::get_for_update(db, winner).await?.task;
    if won.candidate_of != Some(attempt.task) || won.status != TaskStatus::Completed {
        return Err(StoreError::Refused(format!(
            "task {winner} is not a completed candidate of task {}",
            attempt.task
        )));
    }
    let values = args![attempt.task, attempt.number, winner];
    db.execute(PROOF, values.clone()).await?;
    db.execute(CHANGE, values).await?;
    db.execute(CHOSEN, args![attempt.task, won.agent.as_deref()])
        .await?;
    Ok(won)
}

/// Cancels the candidates that have not ended: immediately, or at the next heartbeat of their worker.
pub(crate) async fn cancel_open(db: &mut DbConnection, parent: TaskId) -> StoreResult<()> {
    const OPEN: Sql = sql!(
        "SELECT id FROM task WHERE candidate_of = $1 AND status IN ('pending', 'in_progress', 'blocked') ORDER BY id"
    );
    const REQUEST: Sql =
        sql!("UPDATE task SET cancel_requested = 1, updated_at = $2 WHERE id = $1");
    const CANCEL: Sql = sql!(
        "UPDATE task SET status = 'cancelled', held = 0, output = $3, updated_at = $2 WHERE id = $1"
    );
    let rows = db.fetch_all(OPEN, args![parent]).await?;
    let now = db.now();
    for row in &rows {
        let task = task_row::get_for_update(db, row.id("id")?).await?.task;
        match task.status {
            TaskStatus::InProgress => db.execute(REQUEST, args![task.id, now]).await?,
            TaskStatus::Pending | TaskStatus::Blocked => {
                let why = format!("task {parent} has ended, and this is one of its candidates");
                db.execute(CANCEL, args![task.id, now, why]).await?;
                db.queue_event(status(&task, TaskStatus::Cancelled, "worker"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the candidates of a task that did not complete, and so run again when the task is retried.
pub(crate) async fn unsuccessful(db: &mut DbConnection, parent: &Task) -> StoreResult<Vec<Task>> {
    const LIST: Sql = sql!(
        "SELECT id FROM task WHERE candidate_of = $1 AND status IN ('failed', 'blocked', 'cancelled') AND held = 0 ",
        "ORDER BY id"
    );
    if parent.best_of.is_none() {
        return Ok(Vec::new());
    }
    let rows = db.fetch_all(LIST, args![parent.id]).await?;
    let mut tasks = Vec::with_capacity(rows.len());
    for row in &rows {
        tasks.push(task_row::get_for_update(db, row.id("id")?).await?.task);
    }
    Ok(tasks)
}

/// Adds the usage of a candidate's attempt to its task.
pub(crate) async fn add_usage(
    db: &mut DbConnection,
    candidate: &Task,
    usage: &Usage,
) -> StoreResult<()> {
    const ADD: Sql = sql!("UPDATE task SET usage = $2, updated_at = $3 WHERE id = $1");
    let Some(parent) = candidate.candidate_of else {
        return Ok(());
    };
    if *usage == Usage::default() {
        return Ok(());
    }
    let mut total = task_row::get_for_update(db, parent).await?.task.usage;
    total += usage;
    let now = db.now();
    db.execute(ADD, args![parent, json(&total)?, now]).await
}
