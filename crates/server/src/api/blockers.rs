//! Blockers: questions of tasks.

use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use windlass_tasks::{Blocker, BlockerId, ProjectId, Task};

use super::extract::{JsonBody, PathId, QueryParams};
use super::schema;
use crate::access::VisibleStore;
use crate::board::Board;
use crate::error::{ApiError, JsonResponse};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct BlockerQuery {
    /// Only blockers without an answer.
    #[serde(default)]
    open: bool,
    /// Only entries of this project.
    #[param(value_type = Option<i64>)]
    project: Option<ProjectId>,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = NewAnswer)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerBody {
    text: String,
}

/// Lists blockers (questions for a person), oldest first.
#[utoipa::path(get, path = "/blockers", params(BlockerQuery), responses((status = 200, description = "Success.", body = Vec<schema::Blocker>)))]
pub(super) async fn list(
    store: VisibleStore,
    QueryParams(query): QueryParams<BlockerQuery>,
) -> Result<JsonResponse<Vec<Blocker>>, ApiError> {
    let found = store.blockers(query.project, query.open).await?;
    Ok(JsonResponse(found))
}

/// Answers a blocker and resumes its task.
#[utoipa::path(post, path = "/blockers/{id}/answer", params(("id" = i64, Path)), request_body = AnswerBody, responses((status = 200, description = "Success.", body = schema::Task), (status = 409, description = "The current state does not allow it.")))]
pub(super) async fn answer(
    board: Board,
    PathId(id): PathId<BlockerId>,
    JsonBody(body): JsonBody<AnswerBody>,
) -> Result<JsonResponse<Task>, ApiError> {
    Ok(JsonResponse(board.answer(id, body.text).await?))
}
