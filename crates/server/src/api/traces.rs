//! Traces of attempts and requests.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use axum::extract::Path;
use serde::Deserialize;
use utoipa::IntoParams;
use windlass_core::TraceNode;
use windlass_tasks::{Attempt, TaskId};

use super::extract::{PathId, QueryParams};
use super::schema;
use crate::access::{VisibleStore, task_of_trace};
use crate::error::{ApiError, JsonResponse};
use crate::trace_summary::TraceSummary;

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
    let mut attempts: HashMap<TaskId, Vec<Attempt>> = HashMap::new();
    for id in store.traces(task, limit).await? {
        let root = store.trace(id.clone()).await?;
        let task_id = task.or_else(|| task_of_trace(&id));
        if let Some(task_id) = task_id
            && let Entry::Vacant(slot) = attempts.entry(task_id)
        {
            slot.insert(store.attempts(task_id).await?);
        }
        let known = task_id.and_then(|task_id| attempts.get(&task_id));
        let known = known.map_or(&[][..], Vec::as_slice);
        summaries.push(TraceSummary::new(id, root, task_id, known));
    }
    Ok(JsonResponse(summaries))
}
