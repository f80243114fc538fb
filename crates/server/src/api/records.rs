//! What attempts at a task left behind.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use windlass_core::task::{Attempt, Blocker, Correction, TestResult};

use super::asked::Number;
use crate::error::{Answer, Refusal};
use crate::shared::Shared;

/// A record with the number of the attempt that made it.
#[derive(Serialize)]
pub(super) struct Of<T> {
    attempt: u32,
    #[serde(flatten)]
    record: T,
}

fn of<T>(records: Vec<(u32, T)>) -> Vec<Of<T>> {
    let records = records.into_iter();
    records
        .map(|(attempt, record)| Of { attempt, record })
        .collect()
}

pub(super) async fn attempts(
    State(shared): State<Shared>,
    Number(id): Number,
) -> Result<Answer<Vec<Attempt>>, Refusal> {
    Ok(Answer(shared.store.attempts(id).await?))
}

pub(super) async fn tests(
    State(shared): State<Shared>,
    Number(id): Number,
) -> Result<Answer<Vec<Of<TestResult>>>, Refusal> {
    Ok(Answer(of(shared.store.tests(id).await?)))
}

pub(super) async fn corrections(
    State(shared): State<Shared>,
    Number(id): Number,
) -> Result<Answer<Vec<Of<Correction>>>, Refusal> {
    Ok(Answer(of(shared.store.corrections(id).await?)))
}

/// The proof, or `null` where there is none.
pub(super) async fn proof(
    State(shared): State<Shared>,
    Number(id): Number,
) -> Result<Response, Refusal> {
    shared.store.task(id).await?;
    Ok(Answer(shared.store.proof(id).await?).into_response())
}

pub(super) async fn questions(
    State(shared): State<Shared>,
    Number(id): Number,
) -> Result<Answer<Vec<Blocker>>, Refusal> {
    shared.store.task(id).await?;
    Ok(Answer(shared.store.questions(id).await?))
}
