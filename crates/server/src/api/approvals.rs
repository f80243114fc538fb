//! Permission requests: asked by a worker anywhere on the same store, decided here.

use axum::extract::State;
use serde::Deserialize;
use windlass_core::task::Approval;

use super::extract::{JsonBody, PathId, QueryParams};
use crate::error::{ApiError, JsonResponse};
use crate::state::AppState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ApprovalQuery {
    #[serde(default)]
    open: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DecisionBody {
    option: String,
}

pub(super) async fn list(
    State(shared): State<AppState>,
    QueryParams(which): QueryParams<ApprovalQuery>,
) -> Result<JsonResponse<Vec<Approval>>, ApiError> {
    Ok(JsonResponse(shared.store.approvals(which.open).await?))
}

/// Decides a request. The first decision holds: who comes later with another one is told so.
pub(super) async fn decide(
    State(shared): State<AppState>,
    PathId(id): PathId,
    JsonBody(choice): JsonBody<DecisionBody>,
) -> Result<JsonResponse<Approval>, ApiError> {
    let offered = shared.store.approval(id).await?.asked.options;
    if !offered.iter().any(|option| option.id == choice.option) {
        return Err(ApiError::bad_request(format!(
            "permission request {id} does not offer {:?}",
            choice.option
        )));
    }
    let decided = shared
        .store
        .decide_approval(id, Some(choice.option.clone()))
        .await?;
    let holds = decided
        .decision
        .as_ref()
        .and_then(|held| held.option.as_ref());
    if holds != Some(&choice.option) {
        return Err(ApiError::conflict(match holds {
            Some(other) => format!("permission request {id} was decided before: {other}"),
            None => format!("permission request {id} was withdrawn: its turn has ended"),
        }));
    }
    Ok(JsonResponse(decided))
}
