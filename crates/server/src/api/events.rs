//! Events by sequence number, for clients that reconnect.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use windlass_tasks::{EventFilter, LoggedEvent, ProjectId, TaskId};

use super::extract::{PathId, QueryParams};
use super::schema;
use crate::access::VisibleStore;
use crate::error::{ApiError, JsonResponse};

/// The maximum and default number of events per page.
const MAX_PAGE: u32 = 500;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct AfterQuery {
    /// Only events with a higher sequence number.
    #[serde(default)]
    after: u64,
    /// Only events with a lower sequence number: the newest of them.
    before: Option<u64>,
    /// Page size; at most 500.
    limit: Option<u32>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct EventQuery {
    /// Only events with a higher sequence number.
    #[serde(default)]
    after: u64,
    /// Only events with a lower sequence number: the newest of them.
    before: Option<u64>,
    /// Only entries of this project.
    #[param(value_type = Option<i64>)]
    project: Option<ProjectId>,
    /// Only entries of this task.
    #[param(value_type = Option<i64>)]
    task: Option<TaskId>,
    /// Page size; at most 500.
    limit: Option<u32>,
}

/// A page of events, and the sequence number after which the next one starts.
#[derive(Serialize, ToSchema)]
pub(super) struct EventPage {
    #[schema(value_type = Vec<schema::Event>)]
    events: Vec<LoggedEvent>,
    /// The value of `after` for the next page.
    next: u64,
}

/// Lists all events.
#[utoipa::path(get, path = "/events", params(EventQuery), responses((status = 200, description = "Success.", body = EventPage)))]
pub(super) async fn all(
    store: VisibleStore,
    QueryParams(query): QueryParams<EventQuery>,
) -> Result<JsonResponse<EventPage>, ApiError> {
    page(
        &store,
        EventFilter {
            project_id: query.project,
            task_id: query.task,
            after: query.after,
            before: query.before,
            limit: query.limit.unwrap_or(0),
        },
    )
    .await
}

/// Lists the events of a task.
#[utoipa::path(get, path = "/tasks/{id}/events", params(("id" = i64, Path), AfterQuery), responses((status = 200, description = "Success.", body = EventPage)))]
pub(super) async fn of_task(
    store: VisibleStore,
    PathId(id): PathId,
    QueryParams(query): QueryParams<AfterQuery>,
) -> Result<JsonResponse<EventPage>, ApiError> {
    store.task(id).await?;
    page(
        &store,
        EventFilter {
            task_id: Some(id),
            after: query.after,
            before: query.before,
            limit: query.limit.unwrap_or(0),
            ..EventFilter::default()
        },
    )
    .await
}

async fn page(
    store: &VisibleStore,
    mut filter: EventFilter,
) -> Result<JsonResponse<EventPage>, ApiError> {
    filter.limit = match filter.limit {
        0 => MAX_PAGE,
        limit => limit.min(MAX_PAGE),
    };
    let after = filter.after;
    let events = store.events(filter).await?;
    let next = events.last().map_or(after, |event| event.seq);
    Ok(JsonResponse(EventPage { events, next }))
}
