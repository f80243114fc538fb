//! Questions that tasks wait for.

use axum::extract::State;
use serde::Deserialize;
use windlass_core::task::{Blocker, ProjectId, Task};

use super::extract::{JsonBody, PathId, QueryParams};
use crate::error::{ApiError, JsonResponse};
use crate::state::AppState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlockerQuery {
    #[serde(default)]
    open: bool,
    project: Option<ProjectId>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerBody {
    text: String,
}

pub(super) async fn list(
    State(shared): State<AppState>,
    QueryParams(which): QueryParams<BlockerQuery>,
) -> Result<JsonResponse<Vec<Blocker>>, ApiError> {
    let found = shared.store.blockers(which.project, which.open).await?;
    Ok(JsonResponse(found))
}

/// Answers a question; its task goes on.
pub(super) async fn answer(
    State(shared): State<AppState>,
    PathId(id): PathId,
    JsonBody(words): JsonBody<AnswerBody>,
) -> Result<JsonResponse<Task>, ApiError> {
    if words.text.trim().is_empty() {
        return Err(ApiError::bad_request("the answer is empty"));
    }
    Ok(JsonResponse(
        shared.store.answer_blocker(id, words.text).await?,
    ))
}
