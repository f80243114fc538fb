//! The change of a task, with syntax highlighting.

use axum::extract::State;

use super::extract::PathId;
use crate::access::VisibleStore;
use crate::diff::{Diff, parse_and_highlight};
use crate::error::{ApiError, JsonResponse};
use crate::state::AppState;

pub(super) async fn show(
    State(state): State<AppState>,
    store: VisibleStore,
    PathId(id): PathId,
) -> Result<JsonResponse<Diff>, ApiError> {
    let task = store.task(id).await?;
    let text = state.host_ops.diff(&task).await?;
    // Limited, so that highlighting does not slow down other requests.
    let permit = state.highlighters.acquire().await;
    let _permit = permit.map_err(|error| ApiError::internal(error.to_string()))?;
    let highlighted = tokio::task::spawn_blocking(move || parse_and_highlight(&text)).await;
    highlighted
        .map(JsonResponse)
        .map_err(|error| ApiError::internal(error.to_string()))
}
