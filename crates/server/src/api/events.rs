//! Events by sequence number, for clients that reconnect.

use serde::{Deserialize, Serialize};
use windlass_core::task::{EventFilter, LoggedEvent, ProjectId, TaskId};

use super::extract::{PathId, QueryParams};
use crate::access::VisibleStore;
use crate::error::{ApiError, JsonResponse};

/// The maximum and default number of events per page.
const MAX_PAGE: u32 = 500;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AfterQuery {
    #[serde(default)]
    after: u64,
    limit: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventQuery {
    #[serde(default)]
    after: u64,
    project: Option<ProjectId>,
    task: Option<TaskId>,
    limit: Option<u32>,
}

/// A page of events, and the sequence number after which the next one starts.
#[derive(Serialize)]
pub(super) struct EventPage {
    events: Vec<LoggedEvent>,
    next: u64,
}

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
            limit: query.limit.unwrap_or(0),
        },
    )
    .await
}

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
