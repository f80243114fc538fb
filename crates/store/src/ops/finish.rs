//! The end of an attempt: status, proof, question, usage and the message to the watchers in one transaction.

use windlass_core::Usage;
use windlass_core::task::{
    AttemptRef, Ending, Outcome, Proof, Release, StoreError, StoreResult, Task, TaskStatus,
};

use super::attempts::{self, End};
use super::{approvals, questions, settle};
use crate::events::status;
use crate::session::Session;
use crate::sql::{Sql, args, json, sql};
use crate::task::{self, TaskRow, fence};

/// Where a task stands after an attempt.
struct After<'a> {
    status: TaskStatus,
    output: Option<&'a str>,
    branch: Option<&'a str>,
    unverified: bool,
    /// Whether the attempt is given back.
    refund: bool,
}

impl<'a> After<'a> {
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
    s: &mut Session,
    attempt: AttemptRef,
    outcome: &Outcome,
    usage: &Usage,
) -> StoreResult<Task> {
    let row = match fence(s, attempt).await {
        Ok(row) => row,
        Err(superseded) if superseded.is_superseded() => {
            return said_already(s, attempt, outcome, superseded).await;
        }
        Err(error) => return Err(error),
    };
    let end = End {
        how: ending(outcome),
        error: complaint(outcome),
        usage: Some(usage),
    };
    attempts::end(s, attempt, end).await?;
    let after = after(&row, outcome);
    if let Outcome::Completed {
        proof: Some(proof), ..
    } = outcome
    {
        prove(s, attempt, proof).await?;
    }
    if after.status == TaskStatus::Blocked
        && let Outcome::Blocked { question } = outcome
    {
        questions::ask(s, &row.task, attempt.number, question).await?;
    }
    move_on(s, &row, after, usage, row.task.kind.agent_id()).await
}

/// Gives an attempt back. Its number is used up; its place among the attempts that a task has is not.
pub(crate) async fn release(
    s: &mut Session,
    attempt: AttemptRef,
    release: &Release,
) -> StoreResult<()> {
    let row = fence(s, attempt).await?;
    let end = End {
        how: Ending::Released,
        error: Some(&release.reason),
        usage: Some(&release.usage),
    };
    attempts::end(s, attempt, end).await?;
    let status = if row.cancel_requested {
        TaskStatus::Cancelled
    } else {
        TaskStatus::Pending
    };
    let after = After {
        refund: true,
        ..After::only(status, Some(&release.reason))
    };
    move_on(s, &row, after, &release.usage, row.task.kind.agent_id()).await?;
    Ok(())
}

/// Takes a task from an attempt whose worker went silent.
pub(crate) async fn lose(s: &mut Session, row: &TaskRow) -> StoreResult<Task> {
    let attempt = AttemptRef {
        task: row.task.id,
        number: row.task.attempt,
    };
    let end = End {
        how: Ending::Lost,
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
    let after = After::only(status, Some(&reason));
    move_on(s, row, after, &Usage::default(), "worker").await
}

/// How an outcome is remembered.
fn ending(outcome: &Outcome) -> Ending {
    match outcome {
        Outcome::Completed { .. } => Ending::Completed,
        Outcome::Failed { .. } => Ending::Failed,
        Outcome::Blocked { .. } => Ending::Blocked,
        Outcome::Cancelled => Ending::Cancelled,
    }
}

/// Why an outcome is not a completed task.
fn complaint(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Failed { error, .. } => Some(error),
        Outcome::Blocked { question } => Some(question),
        Outcome::Completed { .. } | Outcome::Cancelled => None,
    }
}

/// A worker whose answer was lost asks again: it gets the answer. Anybody else is superseded.
async fn said_already(
    s: &mut Session,
    attempt: AttemptRef,
    outcome: &Outcome,
    superseded: StoreError,
) -> StoreResult<Task> {
    let TaskRow { task, .. } = task::get(s, attempt.task).await?;
    let ended = attempts::ended(s, attempt).await?;
    if task.attempt == attempt.number && ended.as_deref() == Some(ending(outcome).as_str()) {
        Ok(task)
    } else {
        Err(superseded)
    }
}

fn after<'a>(row: &TaskRow, outcome: &'a Outcome) -> After<'a> {
    match outcome {
        // What was done before the wish to stop came is done.
        Outcome::Completed {
            proof,
            branch,
            output,
        } => After {
            status: TaskStatus::Completed,
            output: Some(output),
            branch: branch.as_deref(),
            unverified: proof.is_none(),
            refund: false,
        },
        Outcome::Cancelled => After::only(
            TaskStatus::Cancelled,
            Some("cancelled while it was worked on"),
        ),
        Outcome::Failed { error, .. } if row.cancel_requested => {
            After::only(TaskStatus::Cancelled, Some(error))
        }
        Outcome::Blocked { question } if row.cancel_requested => {
            After::only(TaskStatus::Cancelled, Some(question))
        }
        Outcome::Failed { error, again } => {
            let left = row.tries < row.task.max_attempts;
            let status = if *again && left {
                TaskStatus::Pending
            } else {
                TaskStatus::Failed
            };
            After::only(status, Some(error))
        }
        Outcome::Blocked { question } => After::only(TaskStatus::Blocked, Some(question)),
    }
}

async fn prove(s: &mut Session, attempt: AttemptRef, proof: &Proof) -> StoreResult<()> {
    const PROVE: Sql = sql!(
        "INSERT INTO proof (task_id, attempt, body) VALUES ($1, $2, $3) ",
        "ON CONFLICT (task_id) DO UPDATE SET attempt = excluded.attempt, body = excluded.body"
    );
    s.write(PROVE, args![attempt.task, attempt.number, json(proof)?])
        .await
}

async fn move_on(
    s: &mut Session,
    row: &TaskRow,
    after: After<'_>,
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
    s.write(MOVE, values).await?;
    approvals::withdraw(s, task.id).await?;
    s.tell(status(task, after.status, teller));
    if after.status.is_final() {
        let waiting = settle::dependants(s, task.id).await?;
        settle::settle(s, waiting).await?;
    }
    Ok(task::get(s, task.id).await?.task)
}
