//! Traces of attempts and requests.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use axum::extract::Path;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use windlass_core::{Timestamp, TraceError, TraceNode, Usage};
use windlass_tasks::{Attempt, AttemptStatus, TaskId};

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
    /// The attempt of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    attempt: Option<u32>,
    /// How the attempt ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<schema::AttemptStatus>)]
    outcome: Option<AttemptStatus>,
    /// Tokens and cost of all steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<schema::Usage>)]
    usage: Option<Usage>,
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
        let attempt = attempt_of_trace(&id);
        if let Some(task_id) = task_id
            && let Entry::Vacant(slot) = attempts.entry(task_id)
        {
            slot.insert(store.attempts(task_id).await?);
        }
        let known = task_id.and_then(|task_id| attempts.get(&task_id));
        let mut known = known.into_iter().flatten();
        let known = known.find(|known| Some(known.number) == attempt);
        summaries.push(TraceSummary {
            task_id,
            attempt: known.map(|known| known.number),
            outcome: known.and_then(|known| known.outcome),
            usage: usage(&root),
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

/// Returns the number of the attempt that a trace is of: `task-7-attempt-2` is of the second one.
fn attempt_of_trace(id: &str) -> Option<u32> {
    id.strip_prefix("task-")?.rsplit('-').next()?.parse().ok()
}

/// Returns the usage of a step, or of the steps in it.
fn usage(node: &TraceNode) -> Option<Usage> {
    if let Some(usage) = &node.usage {
        return Some(usage.clone());
    }
    let mut parts = node.children.iter().filter_map(usage);
    let mut sum = parts.next()?;
    parts.for_each(|part| sum += &part);
    Some(sum)
}
