//! The agents of this machine.

use crate::board::Board;
use crate::error::{ApiError, JsonResponse};
use crate::host_ops::AgentCard;

/// Lists agents with capabilities and health.
#[utoipa::path(get, path = "/agents", responses((status = 200, description = "Success.", body = Vec<AgentCard>)))]
pub(super) async fn list(board: Board) -> Result<JsonResponse<Vec<AgentCard>>, ApiError> {
    Ok(JsonResponse(board.agents().await?))
}
