//! Finishes an attempt: status, proof, question, usage and the event for subscribers in one transaction.

use windlass_core::Usage;
use windlass_tasks::{
    AttemptRef, AttemptStatus, Outcome, Proof, Release, StoreError, StoreResult, Task, TaskStatus,
};

use super::attempts::{self, AttemptEndRow};
use super::{approvals, blockers, candidates, dependents, outdated, records};
use crate::connection::DbConnection;
use crate::events::status;
use crate::sql::{Sql, args, json, sql};
use crate::task_row::{self, TaskRow, columns, fence};

/// State of a task after an attempt.
pub(super) struct NextState<'a> {
    status: TaskStatus,
    pub(super) output: Option<&'a str>,
    pub(super) branch: Option<&'a str>,
    pub(super) unverified: bool,
    pub(super) needs_review: bool,
    /// The attempt does not count towards the limit.
    refund: bool,
}

impl<'a> NextState<'a> {
    fn new(status: TaskStatus, output: Option<&'a str>) -> Self {
        Self {
            status,
            output,
            branch: None,
            unverified: false,
            needs_review: false,
            refund: false,
        }
    }
}

/// Finishes an attempt. Repeating the call with the same outcome returns the same result.
pub(crate) async fn finish(
    db: &mut DbConnection,
    attempt: AttemptRef,
    outcome: &Outcome,
    usage: &Usage,
) -> StoreResult<Task> {
    candidates::lock_parent(db, attempt.task).await?;
    let row = match fence(db, attempt).await {
        Ok(row) => row,
        Err(superseded) if superseded.is_superseded() => {
            return repeat_or_superseded(db, attempt, outcome, superseded).await;
        }
        Err(error) => return Err(error),
    };
    let end = AttemptEndRow {
        status: attempt_status(outcome),
        error: error_text(outcome),
        usage: Some(usage),
    };
    attempts::end(db, attempt, end).await?;
    let won = match outcome {
        Outcome::Chosen { winner, .. } => Some(candidates::choose(db, attempt, *winner).await?),
        _ => None,
    };
    let next = next_state(&row, outcome, won.as_ref());
    if let Outcome::Completed {
        proof: Some(proof), ..
    } = outcome
    {
        insert_proof(db, attempt, proof).await?;
    }
    if next.status == TaskStatus::Blocked
        && let Outcome::Blocked { question } = outcome
    {
        blockers::insert(db, &row.task, attempt.number, question).await?;
    }
    let task = apply_next_state(db, &row, next, usage, row.task.kind.agent_id()).await?;
    let is_outdated = match outcome {
        Outcome::Completed { proof, .. } => {
            outdated::published(db, attempt, proof.as_deref()).await?
        }
        Outcome::Chosen { .. } => {
            let proof = records::proof(db, attempt.task).await?;
            outdated::published(db, attempt, proof.as_ref()).await?
        }
        Outcome::Failed { .. } | Outcome::Blocked { .. } | Outcome::Cancelled => false,
    };
    if is_outdated {
        return Ok(task_row::get(db, attempt.task).await?.task);
    }
    Ok(task)
}

/// Releases an attempt. Its number is not used again, but the attempt does not count towards the task's limit.
pub(crate) async fn release(
    db: &mut DbConnection,
    attempt: AttemptRef,
    release: &Release,
) -> StoreResult<()> {
    candidates::lock_parent(db, attempt.task).await?;
    let row = fence(db, attempt).await?;
    let end = AttemptEndRow {
        status: AttemptStatus::Released,
        error: Some(&release.reason),
        usage: Some(&release.usage),
    };
    attempts::end(db, attempt, end).await?;
    let status = if row.cancel_requested {
        TaskStatus::Cancelled
    } else {
        TaskStatus::Pending
    };
    let next = NextState {
        refund: true,
        ..NextState::new(status, Some(&release.reason))
    };
    apply_next_state(db, &row, next, &release.usage, row.task.kind.agent_id()).await?;
    Ok(())
}

/// Ends an attempt after its worker stopped sending heartbeats.
pub(crate) async fn mark_lost(db: &mut DbConnection, row: &TaskRow) -> StoreResult<Task> {
    let attempt = AttemptRef {
        task: row.task.id,
        number: row.task.attempt,
    };
    let end = AttemptEndRow {
        status: AttemptStatus::Lost,
        error: Some("the lease expired: the worker sent no heartbeat"),
        usage: None,
    };
    attempts::end(db, attempt, end).await?;
    let status = if row.cancel_requested {
        TaskStatus::Cancelled
    } else if row.tries < row.task.max_attempts {
        TaskStatus::Pending
    } else {
        TaskStatus::Failed
    };
    let reason = format!(
        "attempt {} lost its worker: the lease expired",
        attempt.number
    );
    let next = NextState::new(status, Some(&reason));
    apply_next_state(db, row, next, &Usage::default(), "worker").await
}

/// Returns the attempt status for an outcome.
fn attempt_status(outcome: &Outcome) -> AttemptStatus {
    match outcome {
        Outcome::Completed { .. } | Outcome::Chosen { .. } => AttemptStatus::Completed,
        Outcome::Failed { .. } => AttemptStatus::Failed,
        Outcome::Blocked { .. } => AttemptStatus::Blocked,
        Outcome::Cancelled => AttemptStatus::Cancelled,
    }
}

/// Returns the reason if the outcome did not complete the task.
fn error_text(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Failed { error, .. } => Some(error),
        Outcome::Blocked { question } => Some(question),
        Outcome::Completed { .. } | Outcome::Chosen { .. } | Outcome::Cancelled => None,
    }
}

/// Returns the stored result if a worker repeats its own finish because the reply was lost; otherwise the
/// attempt is superseded.
async fn repeat_or_superseded(
    db: &mut DbConnection,
    attempt: AttemptRef,
    outcome: &Outcome,
    superseded: StoreError,
) -> StoreResult<Task> {
    let TaskRow { task, .. } = task_row::get(db, attempt.task).await?;
    let ended = attempts::ended(db, attempt).await?;
    if task.attempt == attempt.number && ended.as_deref() == Some(attempt_status(outcome).as_str())
    {
        Ok(task)
    } else {
        Err(superseded)
    }
}

/// Returns the state after an attempt that completed the task.
pub(super) fn completed_state<'a>(
    proof: Option<&Proof>,
    branch: Option<&'a str>,
    output: &'a str,
) -> NextState<'a> {
    NextState {
        branch,
        unverified: proof.is_none(),
        needs_review: proof.is_some_and(Proof::needs_review),
        ..NextState::new(TaskStatus::Completed, Some(output))
    }
}

/// Returns the state after an outcome. `won` is the candidate that was chosen, if one was.
fn next_state<'a>(row: &TaskRow, outcome: &'a Outcome, won: Option<&'a Task>) -> NextState<'a> {
    match outcome {
        // Work that was completed before the cancel request was noticed stays completed.
        Outcome::Completed {
            proof,
            branch,
            output,
        } => completed_state(proof.as_deref(), branch.as_deref(), output),
        Outcome::Chosen { output, .. } => NextState {
            branch: won.and_then(|won| won.branch.as_deref()),
            unverified: won.is_some_and(|won| won.unverified),
            needs_review: won.is_some_and(|won| won.needs_review),
            ..NextState::new(TaskStatus::Completed, Some(output))
        },
        Outcome::Cancelled => NextState::new(
            TaskStatus::Cancelled,
            Some("cancelled while it was running"),
        ),
        Outcome::Failed { error, .. } if row.cancel_requested => {
            NextState::new(TaskStatus::Cancelled, Some(error))
        }
        Outcome::Blocked { question } if row.cancel_requested => {
            NextState::new(TaskStatus::Cancelled, Some(question))
        }
        Outcome::Failed { error, again } => {
            let attempts_left = row.tries < row.task.max_attempts;
            let status = if *again && attempts_left {
                TaskStatus::Pending
            } else {
                TaskStatus::Failed
            };
            NextState::new(status, Some(error))
        }
        Outcome::Blocked { question } => NextState::new(TaskStatus::Blocked, Some(question)),
    }
}

async fn insert_proof(
    db: &mut DbConnection,
    attempt: AttemptRef,
    proof: &Proof,
) -> StoreResult<()> {
    const INSERT: Sql = sql!(
        "INSERT INTO proof (task_id, attempt, body) VALUES ($1, $2, $3) ",
        "ON CONFLICT (task_id) DO UPDATE SET attempt = excluded.attempt, body = excluded.body"
    );
    const KEEP: Sql = sql!(
        "INSERT INTO earlier_proof (task_id, attempt, body) ",
        "SELECT task_id, attempt, body FROM proof WHERE task_id = $1 AND attempt <> $2 ",
        "ON CONFLICT (task_id, attempt) DO NOTHING"
    );
    db.execute(KEEP, args![attempt.task, attempt.number])
        .await?;
    db.execute(INSERT, args![attempt.task, attempt.number, json(proof)?])
        .await
}

async fn apply_next_state(
    db: &mut DbConnection,
    row: &TaskRow,
    next: NextState<'_>,
    usage: &Usage,
    agent_id: &str,
) -> StoreResult<Task> {
    const UPDATE: Sql = sql!(
        "UPDATE task SET status = $2, output = $3, branch = $4, unverified = $5, needs_review = $6, usage = $7, ",
        "review = CASE WHEN $2 = 'completed' THEN NULL ELSE review END, ",
        "outdated = CASE WHEN $2 = 'completed' THEN 0 ELSE outdated END, tries = tries - $8, cancel_requested = 0, ",
        "lease_until = 0, updated_at = $9, completed_at = $10 WHERE id = $1 RETURNING ",
        columns!()
    );
    let task = &row.task;
    let mut total = task.usage.clone();
    total += usage;
    let now = db.now();
    let completed_at = (next.status == TaskStatus::Completed).then_some(now);
    let values = args![
        task.id,
        next.status.as_str(),
        next.output,
        next.branch,
        next.unverified,
        next.needs_review,
        json(&total)?,
        next.refund,
        now,
        completed_at,
    ];
    let updated = db.fetch_returning(UPDATE, values).await?;
    approvals::withdraw(db, task.id).await?;
    candidates::add_usage(db, task, usage).await?;
    db.queue_event(status(task, next.status, agent_id));
    if next.status.is_final() && task.best_of.is_some() {
        candidates::cancel_open(db, task.id).await?;
    }
    // A candidate that asks a person has ended, too.
    if next.status.is_final() || task.candidate_of.is_some() {
        let dependents = dependents::dependents(db, task.id).await?;
        dependents::update_dependents(db, dependents).await?;
    } else if next.status == TaskStatus::Pending {
        // A dependency may have been reset while the attempt ran.
        dependents::update_dependents(db, vec![task.id]).await?;
        return Ok(task_row::get(db, task.id).await?.task);
    }
    match updated.first() {
        Some(row) => Ok(task_row::from_row(row)?.task),
        None => Err(StoreError::not_found("task", task.id)),
    }
}
