//! The records of a task's attempts.

use axum::response::{IntoResponse, Response};
use serde::Serialize;
use windlass_core::task::{Attempt, Blocker, Correction, TestResult};

use super::extract::PathId;
use crate::access::VisibleStore;
use crate::error::{ApiError, JsonResponse};

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
    store: VisibleStore,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<Attempt>>, ApiError> {
    Ok(JsonResponse(store.attempts(id).await?))
}

pub(super) async fn tests(
    store: VisibleStore,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<AttemptRecord<TestResult>>>, ApiError> {
    Ok(JsonResponse(with_attempt(store.test_results(id).await?)))
}

pub(super) async fn corrections(
    store: VisibleStore,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<AttemptRecord<Correction>>>, ApiError> {
    Ok(JsonResponse(with_attempt(store.corrections(id).await?)))
}

/// Returns the proof, or `null` if there is none.
pub(super) async fn proof(store: VisibleStore, PathId(id): PathId) -> Result<Response, ApiError> {
    Ok(JsonResponse(store.proof(id).await?).into_response())
}

pub(super) async fn blockers(
    store: VisibleStore,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<Blocker>>, ApiError> {
    Ok(JsonResponse(store.task_blockers(id).await?))
}
