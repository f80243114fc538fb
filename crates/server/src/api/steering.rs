//! Steering: edits and pauses of tasks, pauses of workers, notes of projects.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windlass_tasks::{ProjectId, Task, TaskId, WorkerPause};

use super::extract::{JsonBody, PathId};
use super::schema;
use crate::access::{Caller, VisibleStore};
use crate::audit::AuditNote;
use crate::board::{Board, BulkBody, EditBody};
use crate::error::{ApiError, ApiResult, JsonResponse};

/// Edits a task that is not running.
#[utoipa::path(patch, path = "/tasks/{id}", params(("id" = i64, Path)), request_body = EditBody, responses((status = 200, description = "Success.", body = schema::Task), (status = 409, description = "The current state does not allow it.")))]
pub(super) async fn edit(
    board: Board,
    PathId(id): PathId,
    JsonBody(body): JsonBody<EditBody>,
) -> ApiResult<Task> {
    Ok(JsonResponse(board.edit(id, body).await?))
}

/// Pauses a task: no worker claims it. A running attempt continues.
#[utoipa::path(post, path = "/tasks/{id}/pause", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = schema::Task), (status = 409, description = "The current state does not allow it.")))]
pub(super) async fn pause(store: VisibleStore, PathId(id): PathId) -> ApiResult<Task> {
    Ok(JsonResponse(store.pause_task(id).await?))
}

/// Ends the pause of a task.
#[utoipa::path(post, path = "/tasks/{id}/resume", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = schema::Task)))]
pub(super) async fn resume(store: VisibleStore, PathId(id): PathId) -> ApiResult<Task> {
    Ok(JsonResponse(store.resume_task(id).await?))
}

/// The result for one task: the task, or why nothing was done.
#[derive(Serialize, ToSchema)]
#[schema(as = BulkResult)]
pub(super) struct BulkEntry {
    #[schema(value_type = i64)]
    id: TaskId,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<schema::Task>)]
    task: Option<Task>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<String>,
}

/// Does the same to several tasks. The response has one entry for each of them, in the same order.
#[utoipa::path(post, path = "/tasks/bulk", request_body = BulkBody, responses((status = 200, description = "Success.", body = Vec<BulkEntry>)))]
pub(super) async fn bulk(
    board: Board,
    caller: Caller,
    note: AuditNote,
    JsonBody(body): JsonBody<BulkBody>,
) -> ApiResult<Vec<BulkEntry>> {
    note.set_subject(body.summary());
    let results = board.bulk(&caller, body).await?.into_iter();
    let entries = results.map(|(id, result)| {
        let (task, error) = match result {
            Ok(task) => (Some(task), None),
            Err(error) => (None, Some(error)),
        };
        BulkEntry { id, task, error }
    });
    Ok(JsonResponse(entries.collect()))
}

/// The note that every agent of a project receives.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = ProjectNote)]
#[serde(deny_unknown_fields)]
pub(super) struct NoteBody {
    /// The text; empty for none.
    note: String,
}

/// Returns the note of a project, which is part of every agent's prompt.
#[utoipa::path(get, path = "/projects/{id}/note", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = NoteBody)))]
pub(super) async fn note(
    store: VisibleStore,
    PathId(id): PathId<ProjectId>,
) -> ApiResult<NoteBody> {
    let note = store.project_note(id).await?;
    Ok(JsonResponse(NoteBody { note }))
}

/// Sets the note of a project. An empty one removes it.
#[utoipa::path(put, path = "/projects/{id}/note", params(("id" = i64, Path)), request_body = NoteBody, responses((status = 200, description = "Success.", body = NoteBody)))]
pub(super) async fn set_note(
    store: VisibleStore,
    PathId(id): PathId<ProjectId>,
    JsonBody(body): JsonBody<NoteBody>,
) -> ApiResult<NoteBody> {
    let set = store.set_project_note(id, body.note.clone()).await;
    set.map_err(ApiError::from_input_error)?;
    Ok(JsonResponse(body))
}

/// The workers of a store.
#[derive(Serialize, ToSchema)]
#[schema(as = Workers)]
pub(super) struct WorkersBody {
    /// Pauses: workers claim no task of these projects.
    #[schema(value_type = Vec<schema::WorkerPause>)]
    pauses: Vec<WorkerPause>,
}

/// Returns the pauses of workers.
#[utoipa::path(get, path = "/worker", responses((status = 200, description = "Success.", body = WorkersBody)))]
pub(super) async fn workers(store: VisibleStore) -> ApiResult<WorkersBody> {
    let pauses = store.worker_pauses().await?;
    Ok(JsonResponse(WorkersBody { pauses }))
}

#[derive(Deserialize, ToSchema)]
#[schema(as = NewWorkerPause)]
#[serde(deny_unknown_fields)]
pub(super) struct PauseBody {
    /// Only workers of this project. Default: all.
    #[schema(nullable = false, value_type = Option<i64>)]
    project_id: Option<ProjectId>,
    /// Why, for display.
    #[serde(default)]
    reason: String,
}

/// Pauses the workers of one project or of all. Running attempts continue.
#[utoipa::path(post, path = "/worker/pause", request_body = PauseBody, responses((status = 200, description = "Success.", body = WorkersBody)))]
pub(super) async fn pause_workers(
    store: VisibleStore,
    JsonBody(body): JsonBody<PauseBody>,
) -> ApiResult<WorkersBody> {
    let paused = store.pause_workers(body.project_id, body.reason).await;
    paused.map_err(ApiError::from_input_error)?;
    workers(store).await
}

#[derive(Deserialize, ToSchema)]
#[schema(as = EndWorkerPause)]
#[serde(deny_unknown_fields)]
pub(super) struct ResumeBody {
    /// Only the pause of this project. Default: the pause of all projects.
    #[schema(nullable = false, value_type = Option<i64>)]
    project_id: Option<ProjectId>,
}

/// Ends a pause of workers.
#[utoipa::path(post, path = "/worker/resume", request_body = ResumeBody, responses((status = 200, description = "Success.", body = WorkersBody)))]
pub(super) async fn resume_workers(
    store: VisibleStore,
    JsonBody(body): JsonBody<ResumeBody>,
) -> ApiResult<WorkersBody> {
    let resumed = store.resume_workers(body.project_id).await;
    resumed.map_err(ApiError::from_input_error)?;
    workers(store).await
}
