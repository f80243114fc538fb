//! The change of a task, with syntax highlighting.

use axum::extract::State;

use super::extract::PathId;
use crate::access::VisibleStore;
use crate::diff::{Diff, parse_and_highlight};
use crate::error::{ApiError, JsonResponse};
use crate::state::AppState;

/// Returns a task's change as a diff with syntax highlighting.
#[utoipa::path(get, path = "/tasks/{id}/diff", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = Diff), (status = 409, description = "The current state does not allow it.")))]
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
