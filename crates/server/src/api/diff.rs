//! The change of a task, with syntax highlighting.

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windlass_tasks::AttemptNumber;

use super::extract::{PathId, QueryParams};
use crate::board::Board;
use crate::diff::{Diff, DiffPart, parse_diff};
use crate::error::{ApiError, JsonResponse};
use crate::state::AppState;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct DiffQuery {
    /// The change of this attempt, whatever its outcome. Default: the change on the task's branch, or the last one that
    /// is kept.
    #[param(value_type = Option<u32>)]
    attempt: Option<AttemptNumber>,
    /// Only this file, with more lines than a whole change shows of each file.
    path: Option<String>,
    /// Whether the lines are highlighted, which takes time; default `true`.
    highlight: Option<bool>,
    /// The difference between two versions: the older one. Needs `to`.
    #[param(value_type = Option<u32>)]
    from: Option<AttemptNumber>,
    /// The difference between two versions: the newer one. Needs `from`.
    #[param(value_type = Option<u32>)]
    to: Option<AttemptNumber>,
}

/// Returns a task's change as a diff with syntax highlighting.
#[utoipa::path(get, path = "/tasks/{id}/diff", params(("id" = i64, Path), DiffQuery), responses((status = 200, description = "Success.", body = Diff), (status = 409, description = "The current state does not allow it.")))]
pub(super) async fn show(
    State(state): State<AppState>,
    board: Board,
    PathId(id): PathId,
    QueryParams(query): QueryParams<DiffQuery>,
) -> Result<JsonResponse<Diff>, ApiError> {
    let text = match (query.from, query.to, query.attempt) {
        (None, None, attempt) => board.diff(id, attempt).await?,
        (Some(from), Some(to), None) => board.version_diff(id, from, to).await?,
        _ => {
            let message = "from and to belong together, and attempt is for one version only";
            return Err(ApiError::bad_request(message));
        }
    };
    let part = DiffPart {
        path: query.path,
        highlight: query.highlight.unwrap_or(true),
    };
    // Limited, so that highlighting does not slow down other requests.
    let permit = if part.highlight {
        let permit = state.highlighters.acquire().await;
        Some(permit.map_err(|error| ApiError::internal(error.to_string()))?)
    } else {
        None
    };
    let parsed = tokio::task::spawn_blocking(move || parse_diff(&text, &part)).await;
    drop(permit);
    parsed
        .map(JsonResponse)
        .map_err(|error| ApiError::internal(error.to_string()))
}
