//! Tasks: list, add, show, cancel, retry, merge.

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;
use windlass_tasks::{Project, ProjectId, Task, TaskId, TaskStatus};

use super::extract::{JsonBody, PathId, QueryParams};
use super::schema;
use crate::access::VisibleStore;
use crate::audit::AuditNote;
use crate::board::{Board, NewTaskBody, TaskSelection};
use crate::error::{ApiError, ApiResult, JsonResponse};

/// Lists the projects.
#[utoipa::path(get, path = "/projects", responses((status = 200, description = "Success.", body = Vec<schema::Project>)))]
pub(super) async fn projects(store: VisibleStore) -> ApiResult<Vec<Project>> {
    Ok(JsonResponse(store.projects().await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskQuery {
    /// Only entries of this project.
    #[param(value_type = Option<i64>)]
    project: Option<ProjectId>,
    /// Only tasks with one of these statuses, separated by commas.
    status: Option<String>,
    /// Only tasks with a higher id.
    #[param(value_type = Option<i64>)]
    after: Option<TaskId>,
    /// Page size.
    limit: Option<u32>,
}

/// Lists tasks in the order of their ids.
#[utoipa::path(get, path = "/tasks", params(TaskQuery), responses((status = 200, description = "Success.", body = Vec<schema::Task>)))]
pub(super) async fn list(
    board: Board,
    QueryParams(query): QueryParams<TaskQuery>,
) -> ApiResult<Vec<Task>> {
    let names = query.status.as_deref().unwrap_or_default();
    let mut statuses = Vec::new();
    for name in names.split(',').filter(|name| !name.is_empty()) {
        let status = TaskStatus::from_name(name);
        statuses
            .push(status.ok_or_else(|| ApiError::bad_request(format!("unknown status {name:?}")))?);
    }
    let selection = TaskSelection {
        project: query.project,
        statuses,
        after: query.after,
        limit: query.limit,
    };
    Ok(JsonResponse(board.tasks(selection).await?))
}

/// Adds a task; it is durable once the response is sent.
#[utoipa::path(
    post,
    path = "/tasks",
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255,
        description = "Idempotency key: adding again with the same key returns the existing task.")),
    request_body = NewTaskBody,
    responses(
        (status = 201, description = "Success.", body = schema::Task),
        (status = 200, description = "The key was used before: returns the existing task.", body = schema::Task),
        (status = 409, description = "The current state does not allow it."),
    )
)]
pub(super) async fn add(
    board: Board,
    note: AuditNote,
    headers: HeaderMap,
    JsonBody(body): JsonBody<NewTaskBody>,
) -> Result<Response, ApiError> {
    let key = match headers.get("idempotency-key").map(|key| key.to_str()) {
        None => None,
        Some(Ok(key)) => Some(key.to_owned()),
        Some(Err(_)) => {
            let message = "Idempotency-Key must have visible ASCII characters only";
            return Err(ApiError::bad_request(message));
        }
    };
    let added = board.add(body.with_key(key)).await?;
    note.set_subject(format_args!("task {}", added.task.id));
    let status = if added.fresh {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok((status, JsonResponse(added.task)).into_response())
}

/// Returns a task.
#[utoipa::path(get, path = "/tasks/{id}", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = schema::Task)))]
pub(super) async fn show(store: VisibleStore, PathId(id): PathId) -> ApiResult<Task> {
    Ok(JsonResponse(store.task(id).await?))
}

/// Requests the cancellation of a task.
#[utoipa::path(post, path = "/tasks/{id}/cancel", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = schema::Task), (status = 409, description = "The current state does not allow it.")))]
pub(super) async fn cancel(store: VisibleStore, PathId(id): PathId) -> ApiResult<Task> {
    Ok(JsonResponse(store.cancel(id).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct RetryQuery {
    /// Whether the next attempt starts from the current commit, not from the change of the last attempt.
    #[serde(default)]
    #[param(value_type = Option<bool>)]
    fresh: bool,
    /// Retries the task although its change has landed.
    #[serde(default)]
    #[param(value_type = Option<bool>)]
    landed: bool,
}

/// Retries a task with a fresh attempt limit.
#[utoipa::path(post, path = "/tasks/{id}/retry", params(("id" = i64, Path), RetryQuery), responses((status = 200, description = "Success.", body = schema::Task), (status = 409, description = "The current state does not allow it.")))]
pub(super) async fn retry(
    store: VisibleStore,
    PathId(id): PathId,
    QueryParams(query): QueryParams<RetryQuery>,
) -> ApiResult<Task> {
    if query.landed {
        store.forget_landed(id).await?;
    }
    Ok(JsonResponse(store.retry(id, query.fresh).await?))
}

/// Accepts the warnings in the proof of a completed task, so that it can be merged.
#[utoipa::path(post, path = "/tasks/{id}/accept", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = schema::Task), (status = 409, description = "The current state does not allow it.")))]
pub(super) async fn accept(store: VisibleStore, PathId(id): PathId) -> ApiResult<Task> {
    Ok(JsonResponse(store.accept(id).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct MergeQuery {
    /// Returns what would be merged, and changes nothing.
    #[serde(default)]
    #[param(value_type = Option<bool>)]
    dry_run: bool,
}

/// Merges a task's branch into the current branch. A task that needs a review must be accepted first.
#[utoipa::path(post, path = "/tasks/{id}/merge", params(("id" = i64, Path), MergeQuery), responses((status = 200, description = "Success.", body = schema::Merge), (status = 409, description = "The current state does not allow it.")))]
pub(super) async fn merge(
    board: Board,
    PathId(id): PathId,
    QueryParams(query): QueryParams<MergeQuery>,
) -> ApiResult<serde_json::Value> {
    if query.dry_run {
        return Ok(JsonResponse(board.preview_merge(id).await?));
    }
    let (_, merged) = board.merge(id).await?;
    Ok(JsonResponse(merged))
}
