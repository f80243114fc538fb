//! Tasks: listed, added, shown, cancelled, tried again, merged.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use windlass_core::task::{
    Dependency, MAX_ATTEMPTS, NewTask, ProjectId, Task, TaskFilter, TaskId, TaskStatus, WorkerKind,
};

use super::extract::{JsonBody, PathId, QueryParams};
use crate::error::{ApiError, JsonResponse};
use crate::host_ops::HostOpsError;
use crate::state::AppState;

type ApiResult<T> = Result<JsonResponse<T>, ApiError>;

/// The longest idempotency key.
const KEY_BYTES: usize = 255;

pub(super) async fn projects(State(shared): State<AppState>) -> Result<Response, ApiError> {
    Ok(JsonResponse(shared.store.projects().await?).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskQuery {
    project: Option<ProjectId>,
    /// Several, with commas between them.
    status: Option<String>,
    after: Option<TaskId>,
    limit: Option<u32>,
}

pub(super) async fn list(
    State(shared): State<AppState>,
    QueryParams(which): QueryParams<TaskQuery>,
) -> ApiResult<Vec<Task>> {
    let filter = TaskFilter {
        project_id: which.project,
        after: which.after,
        limit: which.limit.unwrap_or(0),
        ..TaskFilter::default()
    };
    let names = which.status.as_deref().unwrap_or_default();
    let names = names.split(',').filter(|name| !name.is_empty());
    let mut tasks = Vec::new();
    let mut seen: Vec<TaskStatus> = Vec::new();
    for name in names {
        let status = TaskStatus::from_name(name)
            .ok_or_else(|| ApiError::bad_request(format!("there is no status {name:?}")))?;
        if seen.contains(&status) {
            continue;
        }
        seen.push(status);
        let filter = TaskFilter {
            status: Some(status),
            ..filter.clone()
        };
        tasks.extend(shared.store.tasks(filter).await?);
    }
    if seen.is_empty() {
        tasks = shared.store.tasks(filter).await?;
    }
    tasks.sort_by_key(|task| task.id);
    if let Some(limit) = which.limit {
        tasks.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    Ok(JsonResponse(tasks))
}

/// A task to be added.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewTaskBody {
    project_id: Option<ProjectId>,
    title: String,
    #[serde(default)]
    description: String,
    priority: Option<u8>,
    agent: Option<String>,
    kind: Option<WorkerKind>,
    workflow_step: Option<u8>,
    #[serde(default)]
    dependencies: Vec<TaskId>,
    max_attempts: Option<u32>,
}

impl NewTaskBody {
    fn task(self, project: Option<ProjectId>, key: Option<String>) -> Result<NewTask, ApiError> {
        let project = self.project_id.or(project);
        let project = project.ok_or_else(|| ApiError::bad_request("project_id is missing"))?;
        if self.title.trim().is_empty() {
            return Err(ApiError::bad_request("title is empty"));
        }
        let usual = NewTask::new(project, self.title.trim());
        Ok(NewTask {
            description: self.description,
            priority: self.priority.unwrap_or(usual.priority),
            workflow_step: self.workflow_step.unwrap_or(usual.workflow_step),
            dependencies: self
                .dependencies
                .into_iter()
                .map(Dependency::Task)
                .collect(),
            kind: self.kind.unwrap_or_default(),
            agent: self.agent.filter(|agent| !agent.is_empty()),
            idempotency_key: key,
            max_attempts: self.max_attempts.unwrap_or(MAX_ATTEMPTS),
            ..usual
        })
    }
}

pub(super) async fn add(
    State(shared): State<AppState>,
    headers: HeaderMap,
    JsonBody(wish): JsonBody<NewTaskBody>,
) -> Result<Response, ApiError> {
    let key = match headers.get("idempotency-key").map(|key| key.to_str()) {
        None => None,
        Some(Ok(key)) if !key.is_empty() && key.len() <= KEY_BYTES => Some(key.to_owned()),
        Some(_) => {
            return Err(ApiError::bad_request(format!(
                "an Idempotency-Key has 1 to {KEY_BYTES} plain letters"
            )));
        }
    };
    let task = wish.task(shared.project, key)?;
    let added = shared.store.enqueue(vec![task]).await;
    let added = added
        .map_err(ApiError::from_input_error)?
        .into_iter()
        .next();
    let added =
        added.ok_or_else(|| ApiError::internal("the store did not say which task it took"))?;
    let status = if added.fresh {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok((status, JsonResponse(added.task)).into_response())
}

pub(super) async fn show(State(shared): State<AppState>, PathId(id): PathId) -> ApiResult<Task> {
    Ok(JsonResponse(shared.store.task(id).await?))
}

pub(super) async fn cancel(State(shared): State<AppState>, PathId(id): PathId) -> ApiResult<Task> {
    Ok(JsonResponse(shared.store.cancel(id).await?))
}

pub(super) async fn retry(State(shared): State<AppState>, PathId(id): PathId) -> ApiResult<Task> {
    Ok(JsonResponse(shared.store.retry(id).await?))
}

pub(super) async fn merge(
    State(shared): State<AppState>,
    PathId(id): PathId,
) -> ApiResult<serde_json::Value> {
    let task = shared.store.task(id).await?;
    Ok(JsonResponse(shared.desk.merge(&task).await?))
}

impl From<HostOpsError> for ApiError {
    fn from(error: HostOpsError) -> Self {
        match error {
            HostOpsError::Refused(why) => Self::conflict(why),
            HostOpsError::Internal(why) => Self::internal(why),
        }
    }
}
