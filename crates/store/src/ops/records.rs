//! What attempts leave behind: test results, corrections, proof.

use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_core::task::{
    AttemptRef, Correction, Proof, RecordId, StoreResult, TaskId, TestResult,
};

use crate::session::Session;
use crate::sql::{Sql, args, json, sql, unreadable};
use crate::task::{self, fence};

pub(crate) async fn record_test(
    s: &mut Session,
    attempt: AttemptRef,
    result: &TestResult,
) -> StoreResult<RecordId> {
    const ADD: Sql = sql!(
        "INSERT INTO test_result (task_id, attempt, at, body) VALUES ($1, $2, $3, $4) RETURNING id"
    );
    record(s, ADD, attempt, result).await
}

pub(crate) async fn record_correction(
    s: &mut Session,
    attempt: AttemptRef,
    round: &Correction,
) -> StoreResult<RecordId> {
    const ADD: Sql = sql!(
        "INSERT INTO correction (task_id, attempt, at, body) VALUES ($1, $2, $3, $4) RETURNING id"
    );
    record(s, ADD, attempt, round).await
}

async fn record<T: Serialize>(
    s: &mut Session,
    add: Sql,
    attempt: AttemptRef,
    body: &T,
) -> StoreResult<RecordId> {
    fence(s, attempt).await?;
    let values = args![attempt.task, attempt.number, s.now(), json(body)?];
    match s.change(add, values).await?.first() {
        Some(row) => row.int("id"),
        None => Err(unreadable("record", "it did not come back")),
    }
}

pub(crate) async fn tests(s: &mut Session, id: TaskId) -> StoreResult<Vec<(u32, TestResult)>> {
    const OF: Sql = sql!("SELECT attempt, body FROM test_result WHERE task_id = $1 ORDER BY id");
    records(s, OF, id).await
}

pub(crate) async fn corrections(
    s: &mut Session,
    id: TaskId,
) -> StoreResult<Vec<(u32, Correction)>> {
    const OF: Sql = sql!("SELECT attempt, body FROM correction WHERE task_id = $1 ORDER BY id");
    records(s, OF, id).await
}

async fn records<T: DeserializeOwned>(
    s: &mut Session,
    of: Sql,
    id: TaskId,
) -> StoreResult<Vec<(u32, T)>> {
    task::get(s, id).await?;
    let rows = s.rows(of, args![id]).await?;
    rows.iter()
        .map(|row| Ok((row.small("attempt")?, row.json("body")?)))
        .collect()
}

/// The proof of a task that is completed now: one that was put back has none.
pub(crate) async fn proof(s: &mut Session, id: TaskId) -> StoreResult<Option<Proof>> {
    const OF: Sql = sql!(
        "SELECT body FROM proof JOIN task ON task.id = proof.task_id AND task.attempt = proof.attempt ",
        "WHERE task.id = $1 AND task.status = 'completed'"
    );
    task::get(s, id).await?;
    match s.row(OF, args![id]).await? {
        Some(row) => row.json("body").map(Some),
        None => Ok(None),
    }
}
