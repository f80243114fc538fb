//! Landing: what waits for its target branch, and what landed.

use serde::Deserialize;
use utoipa::IntoParams;
use windlass_tasks::{Landing, ProjectId, Task, TaskId};

use super::extract::{PathId, QueryParams};
use super::schema;
use crate::access::VisibleStore;
use crate::error::{ApiResult, JsonResponse};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct LandingQuery {
    /// Only landings of this project.
    #[param(value_type = Option<i64>)]
    project_id: Option<ProjectId>,
    /// Only landings of this task.
    #[param(value_type = Option<i64>)]
    task: Option<TaskId>,
    /// Only what waits or lands now.
    #[serde(default)]
    #[param(value_type = Option<bool>)]
    open: bool,
}

/// Returns landings, oldest first, of many the newest.
#[utoipa::path(get, path = "/landings", params(LandingQuery), responses((status = 200, description = "Success.", body = Vec<schema::Landing>)))]
pub(super) async fn list(
    store: VisibleStore,
    QueryParams(query): QueryParams<LandingQuery>,
) -> ApiResult<Vec<Landing>> {
    let landings = store.landings(query.project_id, query.task, query.open);
    Ok(JsonResponse(landings.await?))
}

/// Lets a task land on its target branch when it is proved. A worker merges and tests the change, then moves the branch.
#[utoipa::path(post, path = "/tasks/{id}/land", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = schema::Task), (status = 409, description = "The current state does not allow it.")))]
pub(super) async fn add(store: VisibleStore, PathId(id): PathId) -> ApiResult<Task> {
    Ok(JsonResponse(store.set_land(id, true).await?))
}

/// Takes a task out of the landing queue.
#[utoipa::path(delete, path = "/tasks/{id}/land", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = schema::Task)))]
pub(super) async fn remove(store: VisibleStore, PathId(id): PathId) -> ApiResult<Task> {
    Ok(JsonResponse(store.set_land(id, false).await?))
}
