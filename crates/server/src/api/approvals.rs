//! Permission requests: created by any worker on the same store, decided here.

use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use windlass_tasks::{Approval, ApprovalId};

use super::extract::{JsonBody, PathId, QueryParams};
use super::schema;
use crate::access::VisibleStore;
use crate::board::Board;
use crate::error::{ApiError, JsonResponse};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct ApprovalQuery {
    /// Only requests without a decision.
    #[serde(default)]
    open: bool,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = Decision)]
#[serde(deny_unknown_fields)]
pub(super) struct DecisionBody {
    option: String,
}

/// Lists permission requests, oldest first.
#[utoipa::path(get, path = "/approvals", params(ApprovalQuery), responses((status = 200, description = "Success.", body = Vec<schema::Approval>)))]
pub(super) async fn list(
    store: VisibleStore,
    QueryParams(query): QueryParams<ApprovalQuery>,
) -> Result<JsonResponse<Vec<Approval>>, ApiError> {
    Ok(JsonResponse(store.approvals(query.open).await?))
}

/// Decides a permission request of any worker; the first decision is final.
#[utoipa::path(post, path = "/approvals/{id}/decision", params(("id" = i64, Path)), request_body = DecisionBody, responses((status = 200, description = "Success.", body = schema::Approval), (status = 409, description = "The current state does not allow it.")))]
pub(super) async fn decide(
    board: Board,
    PathId(id): PathId<ApprovalId>,
    JsonBody(body): JsonBody<DecisionBody>,
) -> Result<JsonResponse<Approval>, ApiError> {
    Ok(JsonResponse(board.decide(id, body.option).await?))
}
