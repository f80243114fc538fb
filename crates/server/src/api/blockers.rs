//! Blockers: questions of tasks.

use serde::Deserialize;
use windlass_core::task::{Blocker, ProjectId, Task};

use super::extract::{JsonBody, PathId, QueryParams};
use crate::access::VisibleStore;
use crate::error::{ApiError, JsonResponse};

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
    store: VisibleStore,
    QueryParams(query): QueryParams<BlockerQuery>,
) -> Result<JsonResponse<Vec<Blocker>>, ApiError> {
    let found = store.blockers(query.project, query.open).await?;
    Ok(JsonResponse(found))
}

/// Answers a question and resumes its task.
pub(super) async fn answer(
    store: VisibleStore,
    PathId(id): PathId,
    JsonBody(body): JsonBody<AnswerBody>,
) -> Result<JsonResponse<Task>, ApiError> {
    if body.text.trim().is_empty() {
        return Err(ApiError::bad_request("the answer must not be empty"));
    }
    Ok(JsonResponse(store.answer_blocker(id, body.text).await?))
}
