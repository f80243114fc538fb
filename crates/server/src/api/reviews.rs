//! Reviews of a task's change.

use serde::Serialize;
use utoipa::ToSchema;
use windlass_tasks::{Review, Scope, Task};

use super::extract::{JsonBody, PathId};
use super::schema;
use crate::access::Caller;
use crate::board::{Board, NewReviewBody};
use crate::error::{ApiError, JsonResponse};

/// A stored review, and the task after it.
#[derive(Serialize, ToSchema)]
pub(super) struct Reviewed {
    #[schema(value_type = schema::Review)]
    review: Review,
    #[schema(value_type = schema::Task)]
    task: Task,
}

/// Lists the reviews of a task, oldest first.
#[utoipa::path(get, path = "/tasks/{id}/reviews", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = Vec<schema::Review>)))]
pub(super) async fn list(
    board: Board,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<Review>>, ApiError> {
    Ok(JsonResponse(board.store.reviews(id).await?))
}

/// Submits a review of the newest version. A decision needs the scope approve.
#[utoipa::path(post, path = "/tasks/{id}/reviews", params(("id" = i64, Path)), request_body = NewReviewBody, responses((status = 200, description = "Success.", body = Reviewed), (status = 409, description = "The current state does not allow it.")))]
pub(super) async fn add(
    board: Board,
    caller: Caller,
    PathId(id): PathId,
    JsonBody(body): JsonBody<NewReviewBody>,
) -> Result<JsonResponse<Reviewed>, ApiError> {
    if !caller.scopes.contains(&Scope::Approve) {
        caller.require(body.needs())?;
    }
    let (review, task) = board.review(id, body).await?;
    Ok(JsonResponse(Reviewed { review, task }))
}
