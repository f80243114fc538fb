//! The records of a task's attempts.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use windlass_tasks::{Attempt, Blocker, Correction, TestResult};

use super::extract::PathId;
use crate::error::{ApiError, JsonResponse};
use crate::state::AppState;

/// A record with the number of its attempt.
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
    State(state): State<AppState>,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<Attempt>>, ApiError> {
    Ok(JsonResponse(state.store.attempts(id).await?))
}

pub(super) async fn tests(
    State(state): State<AppState>,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<AttemptRecord<TestResult>>>, ApiError> {
    Ok(JsonResponse(with_attempt(
        state.store.test_results(id).await?,
    )))
}

pub(super) async fn corrections(
    State(state): State<AppState>,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<AttemptRecord<Correction>>>, ApiError> {
    Ok(JsonResponse(with_attempt(
        state.store.corrections(id).await?,
    )))
}

/// Returns the proof, or `null` if there is none.
pub(super) async fn proof(
    State(state): State<AppState>,
    PathId(id): PathId,
) -> Result<Response, ApiError> {
    state.store.task(id).await?;
    Ok(JsonResponse(state.store.proof(id).await?).into_response())
}

pub(super) async fn blockers(
    State(state): State<AppState>,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<Blocker>>, ApiError> {
    state.store.task(id).await?;
    Ok(JsonResponse(state.store.task_blockers(id).await?))
}
