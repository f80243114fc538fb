//! Blockers: questions of tasks.

use axum::extract::State;
use serde::Deserialize;
use windlass_tasks::{Blocker, ProjectId, Task};

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
    State(state): State<AppState>,
    QueryParams(query): QueryParams<BlockerQuery>,
) -> Result<JsonResponse<Vec<Blocker>>, ApiError> {
    let found = state.store.blockers(query.project, query.open).await?;
    Ok(JsonResponse(found))
}

/// Answers a question and resumes its task.
pub(super) async fn answer(
    State(state): State<AppState>,
    PathId(id): PathId,
    JsonBody(body): JsonBody<AnswerBody>,
) -> Result<JsonResponse<Task>, ApiError> {
    if body.text.trim().is_empty() {
        return Err(ApiError::bad_request("the answer must not be empty"));
    }
    Ok(JsonResponse(
        state.store.answer_blocker(id, body.text).await?,
    ))
}
