//! The records of a task's attempts.

use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use windlass_tasks::{Attempt, Blocker, Correction, Push, TestResult};

use super::extract::{PathId, QueryParams};
use super::schema;
use crate::access::VisibleStore;
use crate::board::Board;
use crate::candidates::CandidateRow;
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

/// Lists the attempts of a task, oldest first.
#[utoipa::path(get, path = "/tasks/{id}/attempts", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = Vec<schema::Attempt>)))]
pub(super) async fn attempts(
    store: VisibleStore,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<Attempt>>, ApiError> {
    Ok(JsonResponse(store.attempts(id).await?))
}

/// Lists the test runs of a task, oldest first.
#[utoipa::path(get, path = "/tasks/{id}/tests", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = Vec<schema::TestResult>)))]
pub(super) async fn tests(
    store: VisibleStore,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<AttemptRecord<TestResult>>>, ApiError> {
    Ok(JsonResponse(with_attempt(store.test_results(id).await?)))
}

/// Lists the corrections of a task, oldest first.
#[utoipa::path(get, path = "/tasks/{id}/corrections", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = Vec<schema::Correction>)))]
pub(super) async fn corrections(
    store: VisibleStore,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<AttemptRecord<Correction>>>, ApiError> {
    Ok(JsonResponse(with_attempt(store.corrections(id).await?)))
}

/// Returns the proof of a completed task.
#[utoipa::path(get, path = "/tasks/{id}/proof", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = Option<schema::Proof>)))]
pub(super) async fn proof(store: VisibleStore, PathId(id): PathId) -> Result<Response, ApiError> {
    Ok(JsonResponse(store.proof(id).await?).into_response())
}

/// Lists the pushes of a task's branch, one for each remote.
#[utoipa::path(get, path = "/tasks/{id}/pushes", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = Vec<schema::Push>)))]
pub(super) async fn pushes(
    store: VisibleStore,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<Push>>, ApiError> {
    Ok(JsonResponse(store.pushes(id).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct PushQuery {
    /// The name of a git remote; the configured one if it is not set.
    remote: Option<String>,
}

/// Pushes a task's branch to a git remote, with the git settings and credentials of the server's user. The result has the
/// reason of a push that failed.
#[utoipa::path(post, path = "/tasks/{id}/push", params(("id" = i64, Path), PushQuery), responses((status = 200, description = "Success.", body = schema::Push), (status = 409, description = "The current state does not allow it.")))]
pub(super) async fn push(
    board: Board,
    PathId(id): PathId,
    QueryParams(query): QueryParams<PushQuery>,
) -> Result<JsonResponse<Push>, ApiError> {
    Ok(JsonResponse(board.push(id, query.remote).await?))
}

/// Lists the candidates of a task side by side.
#[utoipa::path(get, path = "/tasks/{id}/candidates", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = Vec<CandidateRow>)))]
pub(super) async fn candidates(
    store: VisibleStore,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<CandidateRow>>, ApiError> {
    Ok(JsonResponse(store.candidates(id).await?))
}

/// Lists the blockers (questions) of a task with their answers.
#[utoipa::path(get, path = "/tasks/{id}/blockers", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = Vec<schema::Blocker>)))]
pub(super) async fn blockers(
    store: VisibleStore,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<Blocker>>, ApiError> {
    Ok(JsonResponse(store.task_blockers(id).await?))
}
