//! Completes attempts in one statement, where no other task is concerned. `finish` has the rules.

use serde::Serialize;
use windlass_core::Usage;
use windlass_tasks::{Outcome, StoreResult, Task, TaskStatus};

use super::finish;
use crate::connection::DbConnection;
use crate::events::{WORKER_OF_KIND, status, status_parts};
use crate::merge::{CompletedAttempt, MergeOutput, MergedResults};
use crate::sql::{Sql, args, json, json_rows, merged_sql};
use crate::task_row::{self, columns};

impl CompletedAttempt {
    fn row(&self) -> StoreResult<Option<CompletedRow<'_>>> {
        let (outcome, usage) = &*self.end;
        let Outcome::Completed {
            proof,
            branch,
            output,
        } = outcome
        else {
            return Ok(None);
        };
        let proof = proof.as_deref();
        let mut total = Usage::default();
        total += usage;
        let next = finish::completed_state(proof, branch.as_deref(), output);
        Ok(Some(CompletedRow {
            task_id: self.attempt.task.get(),
            number: self.attempt.number,
            output: next.output,
            branch: next.branch,
            unverified: next.unverified.into(),
            needs_review: next.needs_review.into(),
            usage: json(usage)?,
            total: json(&total)?,
            proof: proof.map(json).transpose()?,
            published: proof.map(|proof| proof.commit.as_str()),
            base: proof.map(|proof| proof.base.as_str()),
        }))
    }
}

/// A completed attempt as JSON.
#[derive(Serialize)]
struct CompletedRow<'a> {
    task_id: i64,
    number: u32,
    output: Option<&'a str>,
    branch: Option<&'a str>,
    unverified: u8,
    needs_review: u8,
    usage: String,
    /// The usage of all attempts.
    total: String,
    proof: Option<String>,
    published: Option<&'a str>,
    base: Option<&'a str>,
}

/// The parts of a `WITH` clause that complete the attempts in `$input`, but for the rows of the tasks. Left to `finish` are
/// tasks that others depend on, candidates and their tasks, tasks with the usage of earlier attempts, and tasks that another
/// transaction is changing. `held` has the rest: what the task keeps, and what the end gives it.
///
/// What decides this are columns of the task: PostgreSQL checks them again on the newest version of the row when it
/// locks it, while it reads all other rows as they were when the statement began.
macro_rules! completing {
    ($input:literal) => {
        concat!(
            "done AS MATERIALIZED (SELECT * FROM json_to_recordset(CAST(", $input, " AS JSON)) AS done (task_id BIGINT, ",
            "number BIGINT, output TEXT, branch TEXT, unverified BIGINT, needs_review BIGINT, usage TEXT, total TEXT, proof TEXT, ",
            "published TEXT, base TEXT)), ",
            "held AS MATERIALIZED (SELECT task.id, task.project_id, task.kind, task.attempt, task.tries, task.lease_ms, ",
            "task.lease_clock, task.lease_beat, task.lease_at, done.output, done.branch, done.unverified, done.needs_review, ",
            "done.usage, done.total, done.proof, done.published, done.base, clock.now ",
            "FROM clock, done JOIN task ON task.id = done.task_id AND task.attempt = done.number ",
            "JOIN attempt ON attempt.task_id = done.task_id AND attempt.number = done.number ",
            "WHERE task.status = 'in_progress' AND task.depended_on = 0 AND task.best_of IS NULL ",
            "AND task.candidate_of IS NULL AND task.usage = '' AND (done.base IS NOT NULL OR attempt.base_parts = '[]') ",
            "FOR NO KEY UPDATE OF task SKIP LOCKED), ",
            "ended AS (UPDATE attempt SET ended = 'completed', ended_at = held.now, usage = held.usage, error = NULL, ",
            "published = coalesce(held.published, attempt.change_commit), base = coalesce(held.base, attempt.base), ",
            "base_parts = '[]' FROM held WHERE attempt.task_id = held.id AND attempt.number = held.attempt), ",
            "kept AS (INSERT INTO earlier_proof (task_id, attempt, body) SELECT proof.task_id, proof.attempt, proof.body ",
            "FROM held JOIN proof ON proof.task_id = held.id ",
            "WHERE held.proof IS NOT NULL AND proof.attempt <> held.attempt ON CONFLICT (task_id, attempt) DO NOTHING), ",
            "proved AS (INSERT INTO proof (task_id, attempt, body) SELECT held.id, held.attempt, held.proof ",
            "FROM held WHERE held.proof IS NOT NULL ",
            "ON CONFLICT (task_id) DO UPDATE SET attempt = excluded.attempt, body = excluded.body), ",
            "withdrawn AS (UPDATE approval SET decided_at = held.now FROM held ",
            "WHERE approval.task_id = held.id AND approval.decided_at IS NULL)"
        )
    };
}
pub(super) use completing;

/// Returns the completed attempts as the statements read them, each once, or `None` for attempts that need an operation.
pub(super) fn input(attempts: &[&CompletedAttempt]) -> StoreResult<Option<String>> {
    let mut input = Vec::with_capacity(attempts.len());
    for (at, end) in attempts.iter().enumerate() {
        let is_repeated = attempts[..at]
            .iter()
            .any(|earlier| earlier.attempt == end.attempt);
        if !is_repeated {
            input.extend(end.row()?);
        }
    }
    json_rows(&input)
}

/// Returns the result of each attempt.
pub(super) fn outputs<'a>(
    attempts: &'a [&CompletedAttempt],
    tasks: &'a [Task],
) -> impl Iterator<Item = Option<MergeOutput>> + 'a {
    attempts.iter().map(|one| {
        let task = tasks.iter().find(|task| task.id == one.attempt.task)?;
        Some(MergeOutput::Completed(task.clone()))
    })
}

/// Completes attempts that still hold their task.
pub(crate) async fn complete_merged(
    db: &mut DbConnection,
    time: i64,
    attempts: &[&CompletedAttempt],
) -> StoreResult<MergedResults> {
    const COMPLETE: Sql = merged_sql!(
        sqlite "";
        completing!("$5"),
        ", changed AS (UPDATE task SET status = 'completed', output = held.output, branch = held.branch, ",
        "unverified = held.unverified, needs_review = held.needs_review, usage = held.total, review = NULL, outdated = 0, ",
        "cancel_requested = 0, lease_until = 0, updated_at = held.now, completed_at = held.now ",
        "FROM held WHERE task.id = held.id RETURNING task.*)"
    );
    let Some(input) = input(attempts)? else {
        return Ok(MergedResults::none(attempts.len()));
    };
    let [before, between, after] = status_parts(TaskStatus::Completed, WORKER_OF_KIND)?;
    let values = args![time, before, between, after, input];
    let rows = db.fetch_returning(COMPLETE, values).await?;
    let mut tasks: Vec<Task> = Vec::with_capacity(rows.len());
    for row in &rows {
        tasks.push(task_row::from_row(row)?.task);
    }
    let outputs = outputs(attempts, &tasks);
    MergedResults::new(outputs.collect(), &rows)
}

/// Completes one attempt like [`complete_merged`] does, on SQLite: in one call to its thread. `None` leaves it to `finish`.
pub(crate) async fn complete_one(
    db: &mut DbConnection,
    attempt: &CompletedAttempt,
) -> StoreResult<Option<Task>> {
    let Some(row) = attempt.row()? else {
        return Ok(None);
    };
    let values = args![
        row.task_id,
        row.number,
        db.now(),
        row.output,
        row.branch,
        row.unverified,
        row.needs_review,
        row.usage,
        row.total,
        row.proof.as_deref(),
        row.published,
        row.base,
    ];
    let Some(row) = db.fetch_returning(COMPLETE_ONE, values).await?.pop() else {
        return Ok(None);
    };
    let task = task_row::from_row(&row)?.task;
    db.queue_event(status(&task, TaskStatus::Completed, task.kind.agent_id()));
    Ok(Some(task))
}

/// The conditions of [`complete_merged`], which hold until the last statement.
macro_rules! held {
    () => {
        " EXISTS (SELECT 1 FROM task JOIN attempt ON attempt.task_id = task.id AND attempt.number = task.attempt \
         WHERE task.id = $1 AND task.attempt = $2 AND task.status = 'in_progress' AND task.depended_on = 0 \
         AND task.best_of IS NULL AND task.candidate_of IS NULL AND task.usage = '' \
         AND ($12 IS NOT NULL OR attempt.base_parts = '[]'))"
    };
}

const COMPLETE_ONE: Sql = Sql {
    sqlite: concat!(
        "UPDATE attempt SET ended = 'completed', ended_at = $3, usage = $8, error = NULL, ",
        "published = coalesce($11, change_commit), base = coalesce($12, base), base_parts = '[]' ",
        "WHERE task_id = $1 AND number = $2 AND",
        held!(),
        "; INSERT INTO earlier_proof (task_id, attempt, body) SELECT task_id, attempt, body FROM proof ",
        "WHERE task_id = $1 AND attempt <> $2 AND $10 IS NOT NULL AND",
        held!(),
        " ON CONFLICT (task_id, attempt) DO NOTHING",
        "; INSERT INTO proof (task_id, attempt, body) SELECT $1, $2, $10 WHERE $10 IS NOT NULL AND",
        held!(),
        " ON CONFLICT (task_id) DO UPDATE SET attempt = excluded.attempt, body = excluded.body",
        "; UPDATE approval SET decided_at = $3 WHERE task_id = $1 AND decided_at IS NULL AND",
        held!(),
        "; UPDATE task SET status = 'completed', output = $4, branch = $5, unverified = $6, needs_review = $7, ",
        "usage = $9, review = NULL, outdated = 0, cancel_requested = 0, lease_until = 0, updated_at = $3, ",
        "completed_at = $3 WHERE id = $1 AND",
        held!(),
        " RETURNING ",
        columns!()
    ),
    postgres: "",
};
