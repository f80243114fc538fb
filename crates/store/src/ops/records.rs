//! Records of attempts: test results, corrections, proofs.

use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_tasks::{
    AttemptRef, Correction, CorrectionId, Proof, StoreResult, TaskId, TestResult, TestResultId,
};

use crate::connection::DbConnection;
use crate::sql::{Sql, args, decode_error, json, sql};
use crate::task_row::{self, fence};

pub(crate) async fn record_test(
    db: &mut DbConnection,
    attempt: AttemptRef,
    result: &TestResult,
) -> StoreResult<TestResultId> {
    const INSERT: Sql = sql!(
        "INSERT INTO test_result (task_id, attempt, at, body) VALUES ($1, $2, $3, $4) RETURNING id"
    );
    record(db, INSERT, attempt, result).await
}

pub(crate) async fn record_correction(
    db: &mut DbConnection,
    attempt: AttemptRef,
    round: &Correction,
) -> StoreResult<CorrectionId> {
    const INSERT: Sql = sql!(
        "INSERT INTO correction (task_id, attempt, at, body) VALUES ($1, $2, $3, $4) RETURNING id"
    );
    record(db, INSERT, attempt, round).await
}

async fn record<T: Serialize, Id: From<i64>>(
    db: &mut DbConnection,
    insert: Sql,
    attempt: AttemptRef,
    body: &T,
) -> StoreResult<Id> {
    fence(db, attempt).await?;
    let values = args![attempt.task, attempt.number, db.now(), json(body)?];
    match db.fetch_returning(insert, values).await?.first() {
        Some(row) => row.id("id"),
        None => Err(decode_error("record", "the insert returned no row")),
    }
}

pub(crate) async fn tests(
    db: &mut DbConnection,
    id: TaskId,
) -> StoreResult<Vec<(u32, TestResult)>> {
    const OF_TASK: Sql =
        sql!("SELECT attempt, body FROM test_result WHERE task_id = $1 ORDER BY id");
    records(db, OF_TASK, id).await
}

pub(crate) async fn corrections(
    db: &mut DbConnection,
    id: TaskId,
) -> StoreResult<Vec<(u32, Correction)>> {
    const OF_TASK: Sql =
        sql!("SELECT attempt, body FROM correction WHERE task_id = $1 ORDER BY id");
    records(db, OF_TASK, id).await
}

async fn records<T: DeserializeOwned>(
    db: &mut DbConnection,
    sql: Sql,
    id: TaskId,
) -> StoreResult<Vec<(u32, T)>> {
    task_row::get(db, id).await?;
    let rows = db.fetch_all(sql, args![id]).await?;
    rows.iter()
        .map(|row| Ok((row.int_as("attempt")?, row.json("body")?)))
        .collect()
}

/// Returns the proof of a completed task. A task that was reset to pending has none.
pub(crate) async fn proof(db: &mut DbConnection, id: TaskId) -> StoreResult<Option<Proof>> {
    const OF_TASK: Sql = sql!(
        "SELECT body FROM proof JOIN task ON task.id = proof.task_id AND task.attempt = proof.attempt ",
        "WHERE task.id = $1 AND task.status = 'completed'"
    );
    task_row::get(db, id).await?;
    match db.fetch_optional(OF_TASK, args![id]).await? {
        Some(row) => row.json("body").map(Some),
        None => Ok(None),
    }
}
