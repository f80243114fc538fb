//! The end of an attempt: status, proof, question, usage and the message to the watchers in one transaction.

use windlass_core::Usage;
use windlass_core::task::{
    AttemptRef, AttemptStatus, Outcome, Proof, Release, StoreError, StoreResult, Task, TaskStatus,
};

use super::attempts::{self, AttemptEndRow};
use super::{approvals, blockers, dependents};
use crate::connection::DbConnection;
use crate::events::status;
use crate::sql::{Sql, args, json, sql};
use crate::task_row::{self, TaskRow, fence};

/// Where a task stands after an attempt.
struct NextState<'a> {
    status: TaskStatus,
    output: Option<&'a str>,
    branch: Option<&'a str>,
    unverified: bool,
    /// Whether the attempt is given back.
    refund: bool,
}

impl<'a> NextState<'a> {
    fn only(status: TaskStatus, output: Option<&'a str>) -> Self {
        Self {
            status,
            output,
            branch: None,
            unverified: false,
            refund: false,
        }
    }
}

/// Ends an attempt. Said again in the same way, it is answered like the first time.
pub(crate) async fn finish(
    s: &mut DbConnection,
    attempt: AttemptRef,
    outcome: &Outcome,
    usage: &Usage,
) -> StoreResult<Task> {
    let row = match fence(s, attempt).await {
        Ok(row) => row,
        Err(superseded) if superseded.is_superseded() => {
            return repeat_or_superseded(s, attempt, outcome, superseded).await;
        }
        Err(error) => return Err(error),
    };
    let end = AttemptEndRow {
        how: attempt_status(outcome),
        error: error_text(outcome),
        usage: Some(usage),
    };
    attempts::end(s, attempt, end).await?;
    let after = next_state(&row, outcome);
    if let Outcome::Completed {
        proof: Some(proof), ..
    } = outcome
    {
        insert_proof(s, attempt, proof).await?;
    }
    if after.status == TaskStatus::Blocked
        && let Outcome::Blocked { question } = outcome
    {
        blockers::insert(s, &row.task, attempt.number, question).await?;
    }
    apply_next_state(s, &row, after, usage, row.task.kind.agent_id()).await
}

/// Gives an attempt back. Its number is used up; its place among the attempts that a task has is not.
pub(crate) async fn release(
    s: &mut DbConnection,
    attempt: AttemptRef,
    release: &Release,
) -> StoreResult<()> {
    let row = fence(s, attempt).await?;
    let end = AttemptEndRow {
        how: AttemptStatus::Released,
        error: Some(&release.reason),
        usage: Some(&release.usage),
    };
    attempts::end(s, attempt, end).await?;
    let status = if row.cancel_requested {
        TaskStatus::Cancelled
    } else {
        TaskStatus::Pending
    };
    let after = NextState {
        refund: true,
        ..NextState::only(status, Some(&release.reason))
    };
    apply_next_state(s, &row, after, &release.usage, row.task.kind.agent_id()).await?;
    Ok(())
}

/// Takes a task from an attempt whose worker went silent.
pub(crate) async fn mark_lost(s: &mut DbConnection, row: &TaskRow) -> StoreResult<Task> {
    let attempt = AttemptRef {
        task: row.task.id,
        number: row.task.attempt,
    };
    let end = AttemptEndRow {
        how: AttemptStatus::Lost,
        error: Some("its worker went silent: its lease ran out"),
        usage: None,
    };
    attempts::end(s, attempt, end).await?;
    let status = if row.cancel_requested {
        TaskStatus::Cancelled
    } else if row.tries < row.task.max_attempts {
        TaskStatus::Pending
    } else {
        TaskStatus::Failed
    };
    let reason = format!(
        "attempt {} lost its worker: its lease ran out",
        attempt.number
    );
    let after = NextState::only(status, Some(&reason));
    apply_next_state(s, row, after, &Usage::default(), "worker").await
}

/// How an outcome is remembered.
fn attempt_status(outcome: &Outcome) -> AttemptStatus {
    match outcome {
        Outcome::Completed { .. } => AttemptStatus::Completed,
        Outcome::Failed { .. } => AttemptStatus::Failed,
        Outcome::Blocked { .. } => AttemptStatus::Blocked,
        Outcome::Cancelled => AttemptStatus::Cancelled,
    }
}

/// Why an outcome is not a completed task.
fn error_text(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Failed { error, .. } => Some(error),
        Outcome::Blocked { question } => Some(question),
        Outcome::Completed { .. } | Outcome::Cancelled => None,
    }
}

/// A worker whose answer was lost asks again: it gets the answer. Anybody else is superseded.
async fn repeat_or_superseded(
    s: &mut DbConnection,
    attempt: AttemptRef,
    outcome: &Outcome,
    superseded: StoreError,
) -> StoreResult<Task> {
    let TaskRow { task, .. } = task_row::get(s, attempt.task).await?;
    let ended = attempts::ended(s, attempt).await?;
    if task.attempt == attempt.number && ended.as_deref() == Some(attempt_status(outcome).as_str())
    {
        Ok(task)
    } else {
        Err(superseded)
    }
}

fn next_state<'a>(row: &TaskRow, outcome: &'a Outcome) -> NextState<'a> {
    match outcome {
        // What was done before the wish to stop came is done.
        Outcome::Completed {
            proof,
            branch,
            output,
        } => NextState {
            status: TaskStatus::Completed,
            output: Some(output),
            branch: branch.as_deref(),
            unverified: proof.is_none(),
            refund: false,
        },
        Outcome::Cancelled => NextState::only(
            TaskStatus::Cancelled,
            Some("cancelled while it was worked on"),
        ),
        Outcome::Failed { error, .. } if row.cancel_requested => {
            NextState::only(TaskStatus::Cancelled, Some(error))
        }
        Outcome::Blocked { question } if row.cancel_requested => {
            NextState::only(TaskStatus::Cancelled, Some(question))
        }
        Outcome::Failed { error, again } => {
            let left = row.tries < row.task.max_attempts;
            let status = if *again && left {
                TaskStatus::Pending
            } else {
                TaskStatus::Failed
            };
            NextState::only(status, Some(error))
        }
        Outcome::Blocked { question } => NextState::only(TaskStatus::Blocked, Some(question)),
    }
}

async fn insert_proof(s: &mut DbConnection, attempt: AttemptRef, proof: &Proof) -> StoreResult<()> {
    const PROVE: Sql = sql!(
        "INSERT INTO proof (task_id, attempt, body) VALUES ($1, $2, $3) ",
        "ON CONFLICT (task_id) DO UPDATE SET attempt = excluded.attempt, body = excluded.body"
    );
    s.execute(PROVE, args![attempt.task, attempt.number, json(proof)?])
        .await
}

async fn apply_next_state(
    s: &mut DbConnection,
    row: &TaskRow,
    after: NextState<'_>,
    usage: &Usage,
    teller: &str,
) -> StoreResult<Task> {
    const MOVE: Sql = sql!(
        "UPDATE task SET status = $2, output = $3, branch = $4, unverified = $5, usage = $6, ",
        "tries = tries - $7, cancel_requested = 0, lease_until = 0, updated_at = $8, completed_at = $9 WHERE id = $1"
    );
    let task = &row.task;
    let mut total = task.usage.clone();
    total += usage;
    let now = s.now();
    let completed_at = (after.status == TaskStatus::Completed).then_some(now);
    let values = args![
        task.id,
        after.status.as_str(),
        after.output,
        after.branch,
        after.unverified,
        json(&total)?,
        after.refund,
        now,
        completed_at,
    ];
    s.execute(MOVE, values).await?;
    approvals::withdraw(s, task.id).await?;
    s.queue_event(status(task, after.status, teller));
    if after.status.is_final() {
        let waiting = dependents::dependants(s, task.id).await?;
        dependents::update_dependents(s, waiting).await?;
    }
    Ok(task_row::get(s, task.id).await?.task)
}
