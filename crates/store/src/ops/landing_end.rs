//! The end of a landing: landed, returned or withdrawn, with the task in one transaction.

use windlass_tasks::{
    Landing, LandingId, LandingOutcome, LandingState, LandingToken, NewLanding, StoreError,
    StoreResult, Task, TaskId, TaskStatus,
};

use super::landings::{self, LandingRow};
use super::{blockers, dependents, tasks};
use crate::connection::DbConnection;
use crate::events::status;
use crate::sql::{Sql, args, json, sql};
use crate::task_row::{self, TaskRow};

/// Maximum size of a reason, and maximum number of cases that are stored.
const MAX_REASON_BYTES: usize = 64 << 10;
const MAX_CASES: usize = 1_000;

const END: Sql = sql!(
    "UPDATE landings SET state = $2, landed_as = $3, reason = $4, cases = $5, ended_at = $6 WHERE id = $1"
);

/// Ends a landing. Repeating the call with the same outcome returns the same result.
pub(crate) async fn finish(
    db: &mut DbConnection,
    token: LandingToken,
    entry: LandingId,
    outcome: &LandingOutcome,
) -> StoreResult<Task> {
    const REMOVE: Sql = sql!("DELETE FROM landings WHERE id = $1");
    let LandingRow { landing, .. } = match landings::fence(db, token, entry).await {
        Ok(row) => row,
        Err(StoreError::LandingLost) => return repeat(db, token, entry, outcome).await,
        Err(error) => return Err(error),
    };
    let now = db.now();
    let row = task_row::get_for_update(db, landing.task).await?;
    match outcome {
        LandingOutcome::Landed { commit } => {
            let state = LandingState::Landed.as_str();
            let values = args![entry, state, commit.as_str(), None::<&str>, "[]", now];
            db.execute(END, values).await?;
            // A task that has another attempt since has not landed with that one.
            if is_about(&row, &landing) {
                set_landed(db, &row.task, commit, &landing.by).await?;
            }
        }
        LandingOutcome::Returned {
            reason,
            cases,
            max_returns,
        } => {
            let reason = truncate(reason);
            let cases: Vec<&String> = cases.iter().take(MAX_CASES).collect();
            let state = LandingState::Returned.as_str();
            let values = args![entry, state, None::<&str>, reason, json(&cases)?, now];
            db.execute(END, values).await?;
            if is_about(&row, &landing) {
                return_task(db, &row, reason, *max_returns).await?;
            }
        }
        LandingOutcome::Withdrawn => db.execute(REMOVE, args![entry]).await?,
    }
    Ok(task_row::get(db, landing.task).await?.task)
}

/// Returns `true` if the task still has the change of this entry.
fn is_about(row: &TaskRow, landing: &Landing) -> bool {
    row.task.status == TaskStatus::Completed && row.task.attempt == landing.attempt
}

/// Returns the stored result if a worker repeats its own call because the reply was lost.
async fn repeat(
    db: &mut DbConnection,
    token: LandingToken,
    entry: LandingId,
    outcome: &LandingOutcome,
) -> StoreResult<Task> {
    let LandingRow {
        landing,
        token: ended_by,
    } = landings::get_for_update(db, entry).await?;
    let is_same = match outcome {
        LandingOutcome::Landed { commit } => {
            landing.state == LandingState::Landed && landing.commit.as_ref() == Some(commit)
        }
        LandingOutcome::Returned { .. } => landing.state == LandingState::Returned,
        LandingOutcome::Withdrawn => false,
    };
    if is_same && ended_by == token {
        Ok(task_row::get(db, landing.task).await?.task)
    } else {
        Err(StoreError::LandingLost)
    }
}

async fn set_landed(db: &mut DbConnection, task: &Task, commit: &str, by: &str) -> StoreResult<()> {
    const SET: Sql = sql!(
        "UPDATE task SET landed_commit = $2, landed_at = $3, landed_by = $4, updated_at = $3 WHERE id = $1"
    );
    let now = db.now();
    db.execute(SET, args![task.id, commit, now, by]).await?;
    db.queue_event(status(task, task.status, "worker"));
    Ok(())
}

/// Gives the task a new attempt, or asks a person if there were too many.
async fn return_task(
    db: &mut DbConnection,
    row: &TaskRow,
    reason: &str,
    max_returns: u32,
) -> StoreResult<()> {
    const COUNT: Sql =
        sql!("SELECT count(*) AS n FROM landings WHERE task_id = $1 AND state = 'returned'");
    const BLOCK: Sql = sql!(
        "UPDATE task SET status = 'blocked', output = $2, completed_at = NULL, updated_at = $3 WHERE id = $1"
    );
    let task = &row.task;
    let count = db.fetch_optional(COUNT, args![task.id]).await?;
    let count = count.map(|row| row.int("n")).transpose()?.unwrap_or(0);
    if count <= i64::from(max_returns) && row.tries < task.max_attempts {
        return tasks::reset_to_pending(db, task, false).await;
    }
    let question = format!(
        "The change is proved but was not landed, and its agent has no attempt left.\n\n{reason}\n\n\
         What should the next attempt do?"
    );
    let now = db.now();
    db.execute(BLOCK, args![task.id, question.as_str(), now])
        .await?;
    blockers::insert(db, task, task.attempt, &question).await?;
    db.queue_event(status(task, TaskStatus::Blocked, "worker"));
    let affected = dependents::dependents(db, task.id).await?;
    dependents::update_dependents(db, affected).await
}

fn truncate(text: &str) -> &str {
    let mut end = text.len().min(MAX_REASON_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Records a change that was brought to a branch without the queue.
pub(crate) async fn record_landed(
    db: &mut DbConnection,
    new: &NewLanding,
    commit: &str,
) -> StoreResult<Task> {
    const INSERT: Sql = sql!(
        "INSERT INTO landings (project_id, task_id, attempt, target, requested_by, state, landed_as, created_at, ",
        "ended_at) VALUES ($1, $2, $3, $4, $5, 'landed', $6, $7, $7)"
    );
    let task = landings::ready_task(db, new).await?;
    if task.landed.is_some() {
        return Ok(task);
    }
    landings::remove_queued(db, task.id).await?;
    let now = db.now();
    let (target, by) = (new.target.as_str(), new.by.as_str());
    let values = args![
        task.project_id,
        task.id,
        task.attempt,
        target,
        by,
        commit,
        now
    ];
    db.execute(INSERT, values).await?;
    set_landed(db, &task, commit, &new.by).await?;
    Ok(task_row::get(db, task.id).await?.task)
}

/// Forgets that a task has landed. Its landings stay listed.
pub(crate) async fn forget_landed(db: &mut DbConnection, id: TaskId) -> StoreResult<Task> {
    const FORGET: Sql = sql!(
        "UPDATE task SET land = 0, landed_commit = NULL, landed_at = NULL, landed_by = NULL, updated_at = $2 ",
        "WHERE id = $1"
    );
    let TaskRow { task, .. } = task_row::get_for_update(db, id).await?;
    if task.landed.is_some() {
        let now = db.now();
        db.execute(FORGET, args![id, now]).await?;
        db.queue_event(status(&task, task.status, "worker"));
    }
    Ok(task_row::get(db, id).await?.task)
}
