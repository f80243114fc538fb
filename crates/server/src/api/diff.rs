//! The change that a task made, with colours.

use axum::extract::State;

use super::extract::PathId;
use crate::diff::{Diff, parse_and_highlight};
use crate::error::{ApiError, JsonResponse};
use crate::state::AppState;

pub(super) async fn show(
    State(shared): State<AppState>,
    PathId(id): PathId,
) -> Result<JsonResponse<Diff>, ApiError> {
    let task = shared.store.task(id).await?;
    let text = shared.desk.diff(&task).await?;
    // One at a time: others who wait for the server must not wait for colours.
    let turn = shared.painters.acquire().await;
    let _turn = turn.map_err(|error| ApiError::internal(error.to_string()))?;
    let painted = tokio::task::spawn_blocking(move || parse_and_highlight(&text)).await;
    painted
        .map(JsonResponse)
        .map_err(|error| ApiError::internal(error.to_string()))
}
