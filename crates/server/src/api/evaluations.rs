//! The results of `windlass eval`.

use axum::extract::State;

use crate::access::Caller;
use crate::error::{ApiResult, JsonResponse};
use crate::host_ops::Evaluation;
use crate::state::AppState;

/// Lists the evaluations of agents on the machine of the server, the newest first. They belong to no project, so a caller
/// who sees only some projects sees none.
#[utoipa::path(get, path = "/evaluations", responses((status = 200, description = "Success.", body = Vec<Evaluation>)))]
pub(super) async fn list(
    State(state): State<AppState>,
    caller: Caller,
) -> ApiResult<Vec<Evaluation>> {
    if caller.projects.is_some() {
        return Ok(JsonResponse(Vec::new()));
    }
    Ok(JsonResponse(state.host_ops.evaluations().await?))
}
