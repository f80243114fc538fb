//! Tasks: list, add, show, cancel, retry, merge.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use windlass_tasks::{
    ATTEMPT_LIMIT, Dependency, MAX_ATTEMPTS, NewTask, Project, ProjectId, Task, TaskFilter, TaskId,
    TaskStatus, WorkerKind,
};

use super::extract::{JsonBody, PathId, QueryParams};
use super::schema;
use crate::access::VisibleStore;
use crate::error::{ApiError, JsonResponse};
use crate::host_ops::HostOpsError;
use crate::state::AppState;

type ApiResult<T> = Result<JsonResponse<T>, ApiError>;

/// The maximum length of an idempotency key.
const KEY_BYTES: usize = 255;

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
    store: VisibleStore,
    QueryParams(query): QueryParams<TaskQuery>,
) -> ApiResult<Vec<Task>> {
    let filter = TaskFilter {
        project_id: query.project,
        after: query.after,
        limit: query.limit.unwrap_or(0),
        ..TaskFilter::default()
    };
    let names = query.status.as_deref().unwrap_or_default();
    let names = names.split(',').filter(|name| !name.is_empty());
    let mut tasks = Vec::new();
    let mut seen: Vec<TaskStatus> = Vec::new();
    for name in names {
        let status = TaskStatus::from_name(name)
            .ok_or_else(|| ApiError::bad_request(format!("unknown status {name:?}")))?;
        if seen.contains(&status) {
            continue;
        }
        seen.push(status);
        let filter = TaskFilter {
            status: Some(status),
            ..filter.clone()
        };
        tasks.extend(store.tasks(filter).await?);
    }
    if seen.is_empty() {
        tasks = store.tasks(filter).await?;
    }
    tasks.sort_by_key(|task| task.id);
    if let Some(limit) = query.limit {
        tasks.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    Ok(JsonResponse(tasks))
}

/// The body of a request that adds a task.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewTask)]
#[serde(deny_unknown_fields)]
pub(super) struct NewTaskBody {
    /// Default: the project of the directory in which the server was started.
    #[schema(nullable = false, value_type = Option<i64>)]
    project_id: Option<ProjectId>,
    title: String,
    #[serde(default)]
    description: String,
    /// 0 is the highest priority.
    #[schema(nullable = false, maximum = 4)]
    priority: Option<u8>,
    #[schema(nullable = false)]
    agent: Option<String>,
    #[schema(nullable = false, value_type = Option<schema::WorkerKind>)]
    kind: Option<WorkerKind>,
    #[schema(nullable = false, minimum = 1, maximum = 15)]
    workflow_step: Option<u8>,
    /// Tasks that must be completed first.
    #[serde(default)]
    #[schema(value_type = Vec<i64>)]
    dependencies: Vec<TaskId>,
    #[schema(nullable = false, minimum = 1, maximum = 100)]
    max_attempts: Option<u32>,
}

impl NewTaskBody {
    fn task(self, project: Option<ProjectId>, key: Option<String>) -> Result<NewTask, ApiError> {
        let project = self.project_id.or(project);
        let project = project.ok_or_else(|| ApiError::bad_request("project_id is missing"))?;
        if self.title.trim().is_empty() {
            return Err(ApiError::bad_request("title must not be empty"));
        }
        let max_attempts = self.max_attempts.unwrap_or(MAX_ATTEMPTS);
        if !(1..=ATTEMPT_LIMIT).contains(&max_attempts) {
            return Err(ApiError::bad_request(format!(
                "max_attempts is {max_attempts}; it must be 1 to {ATTEMPT_LIMIT}"
            )));
        }
        let defaults = NewTask::new(project, self.title.trim());
        Ok(NewTask {
            description: self.description,
            priority: self.priority.unwrap_or(defaults.priority),
            workflow_step: self.workflow_step.unwrap_or(defaults.workflow_step),
            dependencies: self
                .dependencies
                .into_iter()
                .map(Dependency::Task)
                .collect(),
            kind: self.kind.unwrap_or_default(),
            agent: self.agent.filter(|agent| !agent.is_empty()),
            idempotency_key: key,
            max_attempts,
            ..defaults
        })
    }
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
    State(state): State<AppState>,
    store: VisibleStore,
    headers: HeaderMap,
    JsonBody(body): JsonBody<NewTaskBody>,
) -> Result<Response, ApiError> {
    let key = match headers.get("idempotency-key").map(|key| key.to_str()) {
        None => None,
        Some(Ok(key)) if !key.is_empty() && key.len() <= KEY_BYTES => Some(key.to_owned()),
        Some(_) => {
            return Err(ApiError::bad_request(format!(
                "Idempotency-Key must have 1 to {KEY_BYTES} visible ASCII characters"
            )));
        }
    };
    let task = body.task(state.project, key)?;
    let added = store
        .enqueue(task)
        .await
        .map_err(ApiError::from_input_error)?;
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

/// Retries a task with a fresh attempt limit.
#[utoipa::path(post, path = "/tasks/{id}/retry", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = schema::Task), (status = 409, description = "The current state does not allow it.")))]
pub(super) async fn retry(store: VisibleStore, PathId(id): PathId) -> ApiResult<Task> {
    Ok(JsonResponse(store.retry(id).await?))
}

/// Merges a task's branch into the current branch.
#[utoipa::path(post, path = "/tasks/{id}/merge", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = schema::Merge), (status = 409, description = "The current state does not allow it.")))]
pub(super) async fn merge(
    State(state): State<AppState>,
    store: VisibleStore,
    PathId(id): PathId,
) -> ApiResult<serde_json::Value> {
    let task = store.task(id).await?;
    Ok(JsonResponse(state.host_ops.merge(&task).await?))
}

impl From<HostOpsError> for ApiError {
    fn from(error: HostOpsError) -> Self {
        match error {
            HostOpsError::Refused(why) => Self::conflict(why),
            HostOpsError::Internal(why) => Self::internal(why),
        }
    }
}
