//! What attempts leave behind: test results, corrections, proof.

use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_core::task::{
    AttemptRef, Correction, Proof, RecordId, StoreResult, TaskId, TestResult,
};

use crate::connection::DbConnection;
use crate::sql::{Sql, args, decode_error, json, sql};
use crate::task_row::{self, fence};

pub(crate) async fn record_test(
    s: &mut DbConnection,
    attempt: AttemptRef,
    result: &TestResult,
) -> StoreResult<RecordId> {
    const ADD: Sql = sql!(
        "INSERT INTO test_result (task_id, attempt, at, body) VALUES ($1, $2, $3, $4) RETURNING id"
    );
    record(s, ADD, attempt, result).await
}

pub(crate) async fn record_correction(
    s: &mut DbConnection,
    attempt: AttemptRef,
    round: &Correction,
) -> StoreResult<RecordId> {
    const ADD: Sql = sql!(
        "INSERT INTO correction (task_id, attempt, at, body) VALUES ($1, $2, $3, $4) RETURNING id"
    );
    record(s, ADD, attempt, round).await
}

async fn record<T: Serialize>(
    s: &mut DbConnection,
    add: Sql,
    attempt: AttemptRef,
    body: &T,
) -> StoreResult<RecordId> {
    fence(s, attempt).await?;
    let values = args![attempt.task, attempt.number, s.now(), json(body)?];
    match s.fetch_returning(add, values).await?.first() {
        Some(row) => row.int("id"),
        None => Err(decode_error("record", "it did not come back")),
    }
}

pub(crate) async fn tests(s: &mut DbConnection, id: TaskId) -> StoreResult<Vec<(u32, TestResult)>> {
    const OF: Sql = sql!("SELECT attempt, body FROM test_result WHERE task_id = $1 ORDER BY id");
    records(s, OF, id).await
}

pub(crate) async fn corrections(
    s: &mut DbConnection,
    id: TaskId,
) -> StoreResult<Vec<(u32, Correction)>> {
    const OF: Sql = sql!("SELECT attempt, body FROM correction WHERE task_id = $1 ORDER BY id");
    records(s, OF, id).await
}

async fn records<T: DeserializeOwned>(
    s: &mut DbConnection,
    of: Sql,
    id: TaskId,
) -> StoreResult<Vec<(u32, T)>> {
    task_row::get(s, id).await?;
    let rows = s.fetch_all(of, args![id]).await?;
    rows.iter()
        .map(|row| Ok((row.int_as("attempt")?, row.json("body")?)))
        .collect()
}

/// The proof of a task that is completed now: one that was put back has none.
pub(crate) async fn proof(s: &mut DbConnection, id: TaskId) -> StoreResult<Option<Proof>> {
    const OF: Sql = sql!(
        "SELECT body FROM proof JOIN task ON task.id = proof.task_id AND task.attempt = proof.attempt ",
        "WHERE task.id = $1 AND task.status = 'completed'"
    );
    task_row::get(s, id).await?;
    match s.fetch_optional(OF, args![id]).await? {
        Some(row) => row.json("body").map(Some),
        None => Ok(None),
    }
}
