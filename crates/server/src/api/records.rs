//! What attempts at a task left behind.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use windlass_core::task::{Attempt, Blocker, Correction, TestResult};

use super::extract::PathId;
use crate::error::{ApiError, JsonResponse};
use crate::state::AppState;

/// A record with the number of the attempt that made it.
#[derive(Serialize)]
pub(super) struct AttemptRecord<T> {
    attempt: u32,
    #[serde(flatten)]
    record: T,
}

fn with_attempt<T>(records: Vec<(u32, T)>) -> Vec<AttemptRecord<T>> {
    let records = records.into_iter();
    records
        .map(|(attempt, record)| AttemptRecord { attempt, record })
        .collect()
}

pub(super) async fn attempts(
    State(shared): State<AppState>,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<Attempt>>, ApiError> {
    Ok(JsonResponse(shared.store.attempts(id).await?))
}

pub(super) async fn tests(
    State(shared): State<AppState>,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<AttemptRecord<TestResult>>>, ApiError> {
    Ok(JsonResponse(with_attempt(
        shared.store.test_results(id).await?,
    )))
}

pub(super) async fn corrections(
    State(shared): State<AppState>,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<AttemptRecord<Correction>>>, ApiError> {
    Ok(JsonResponse(with_attempt(
        shared.store.corrections(id).await?,
    )))
}

/// The proof, or `null` where there is none.
pub(super) async fn proof(
    State(shared): State<AppState>,
    PathId(id): PathId,
) -> Result<Response, ApiError> {
    shared.store.task(id).await?;
    Ok(JsonResponse(shared.store.proof(id).await?).into_response())
}

pub(super) async fn questions(
    State(shared): State<AppState>,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<Blocker>>, ApiError> {
    shared.store.task(id).await?;
    Ok(JsonResponse(shared.store.task_blockers(id).await?))
}
