//! Messages by their numbers: what a reader that was away fetches.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use windlass_core::task::{EventFilter, LoggedEvent, ProjectId, TaskId};

use super::extract::{PathId, QueryParams};
use crate::error::{ApiError, JsonResponse};
use crate::state::AppState;

/// How many messages are given at once, at most and unless told otherwise.
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

/// A page of messages, and the number after which the next one begins.
#[derive(Serialize)]
pub(super) struct EventPage {
    events: Vec<LoggedEvent>,
    next: u64,
}

pub(super) async fn all(
    State(shared): State<AppState>,
    QueryParams(which): QueryParams<EventQuery>,
) -> Result<JsonResponse<EventPage>, ApiError> {
    page(
        &shared,
        EventFilter {
            project_id: which.project,
            task_id: which.task,
            after: which.after,
            limit: which.limit.unwrap_or(0),
        },
    )
    .await
}

pub(super) async fn of_task(
    State(shared): State<AppState>,
    PathId(id): PathId,
    QueryParams(after): QueryParams<AfterQuery>,
) -> Result<JsonResponse<EventPage>, ApiError> {
    shared.store.task(id).await?;
    page(
        &shared,
        EventFilter {
            task_id: Some(id),
            after: after.after,
            limit: after.limit.unwrap_or(0),
            ..EventFilter::default()
        },
    )
    .await
}

async fn page(
    shared: &AppState,
    mut filter: EventFilter,
) -> Result<JsonResponse<EventPage>, ApiError> {
    filter.limit = match filter.limit {
        0 => MAX_PAGE,
        asked => asked.min(MAX_PAGE),
    };
    let after = filter.after;
    let events = shared.store.events(filter).await?;
    let next = events.last().map_or(after, |event| event.seq);
    Ok(JsonResponse(EventPage { events, next }))
}
