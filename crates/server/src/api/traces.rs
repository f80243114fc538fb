//! Traces of attempts and requests.

use axum::extract::Path;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use windlass_core::{Timestamp, TraceError, TraceNode};
use windlass_tasks::TaskId;

use super::extract::{PathId, QueryParams};
use super::schema;
use crate::access::{VisibleStore, task_of_trace};
use crate::error::{ApiError, JsonResponse};

/// The maximum and default number of traces per page.
const MAX_PAGE: u32 = 100;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceQuery {
    /// Only entries of this task.
    #[param(value_type = Option<i64>)]
    task: Option<TaskId>,
    /// Page size; at most 100.
    limit: Option<u32>,
}

/// The summary of a trace.
#[derive(Serialize, ToSchema)]
#[schema(as = TraceLine)]
pub(super) struct TraceSummary {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<i64>)]
    task_id: Option<TaskId>,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    agent: Option<String>,
    /// Milliseconds since the Unix epoch.
    #[schema(value_type = u64)]
    start: Timestamp,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<schema::TraceError>)]
    error: Option<TraceError>,
}

/// Lists the newest traces.
#[utoipa::path(get, path = "/traces", params(TraceQuery), responses((status = 200, description = "Success.", body = Vec<TraceSummary>)))]
pub(super) async fn list(
    store: VisibleStore,
    QueryParams(query): QueryParams<TraceQuery>,
) -> Result<JsonResponse<Vec<TraceSummary>>, ApiError> {
    summaries(&store, query.task, query.limit).await
}

/// Lists the traces of a task, newest first.
#[utoipa::path(get, path = "/tasks/{id}/traces", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = Vec<TraceSummary>)))]
pub(super) async fn of_task(
    store: VisibleStore,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<TraceSummary>>, ApiError> {
    store.task(id).await?;
    summaries(&store, Some(id), None).await
}

/// Returns the trace of an attempt or a request.
#[utoipa::path(get, path = "/traces/{id}", params(("id" = String, Path)), responses((status = 200, description = "Success.", body = schema::TraceNode)))]
pub(super) async fn show(
    store: VisibleStore,
    Path(id): Path<String>,
) -> Result<JsonResponse<TraceNode>, ApiError> {
    Ok(JsonResponse(store.trace(id).await?))
}

async fn summaries(
    store: &VisibleStore,
    task: Option<TaskId>,
    limit: Option<u32>,
) -> Result<JsonResponse<Vec<TraceSummary>>, ApiError> {
    let limit = limit.unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE);
    let mut summaries = Vec::new();
    for id in store.traces(task, limit).await? {
        let root = store.trace(id.clone()).await?;
        summaries.push(TraceSummary {
            task_id: task.or_else(|| task_of_trace(&id)),
            id,
            name: root.name,
            agent: root.agent,
            start: root.start,
            duration_ms: root.duration_ms,
            error: root.error,
        });
    }
    Ok(JsonResponse(summaries))
}
