//! Messages by their numbers: what a reader that was away fetches.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use windlass_core::task::{EventFilter, LoggedEvent, ProjectId, TaskId};

use super::asked::{Fields, Number};
use crate::error::{Answer, Refusal};
use crate::shared::Shared;

/// How many messages are given at once, at most and unless told otherwise.
const PAGE: u32 = 500;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct After {
    #[serde(default)]
    after: u64,
    limit: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    #[serde(default)]
    after: u64,
    project: Option<ProjectId>,
    task: Option<TaskId>,
    limit: Option<u32>,
}

/// A page of messages, and the number after which the next one begins.
#[derive(Serialize)]
pub(super) struct Page {
    events: Vec<LoggedEvent>,
    next: u64,
}

pub(super) async fn all(
    State(shared): State<Shared>,
    Fields(which): Fields<Which>,
) -> Result<Answer<Page>, Refusal> {
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
    State(shared): State<Shared>,
    Number(id): Number,
    Fields(after): Fields<After>,
) -> Result<Answer<Page>, Refusal> {
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

async fn page(shared: &Shared, mut filter: EventFilter) -> Result<Answer<Page>, Refusal> {
    filter.limit = match filter.limit {
        0 => PAGE,
        asked => asked.min(PAGE),
    };
    let after = filter.after;
    let events = shared.store.events(filter).await?;
    let next = events.last().map_or(after, |event| event.seq);
    Ok(Answer(Page { events, next }))
}
