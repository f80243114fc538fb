//! Traces of attempts and requests.

use axum::extract::Path;
use serde::{Deserialize, Serialize};
use windlass_core::task::TaskId;
use windlass_core::{Timestamp, TraceError, TraceNode};

use super::extract::{PathId, QueryParams};
use crate::access::{VisibleStore, task_of_trace};
use crate::error::{ApiError, JsonResponse};

/// The maximum and default number of traces per page.
const MAX_PAGE: u32 = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceQuery {
    task: Option<TaskId>,
    limit: Option<u32>,
}

/// The summary of a trace.
#[derive(Serialize)]
pub(super) struct TraceSummary {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<TaskId>,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    start: Timestamp,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<TraceError>,
}

pub(super) async fn list(
    store: VisibleStore,
    QueryParams(query): QueryParams<TraceQuery>,
) -> Result<JsonResponse<Vec<TraceSummary>>, ApiError> {
    summaries(&store, query.task, query.limit).await
}

pub(super) async fn of_task(
    store: VisibleStore,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<TraceSummary>>, ApiError> {
    store.task(id).await?;
    summaries(&store, Some(id), None).await
}

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
