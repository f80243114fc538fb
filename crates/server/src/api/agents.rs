//! The agents of this machine. Checking them starts programs, so the result is cached for a short time.

use std::time::Duration;

use axum::extract::State;

use crate::error::{ApiError, JsonResponse};
use crate::host_ops::AgentCard;
use crate::state::AppState;

/// How long the result is cached.
const CACHE_TTL: Duration = Duration::from_secs(10);

/// Lists agents with capabilities and health.
#[utoipa::path(get, path = "/agents", responses((status = 200, description = "Success.", body = Vec<AgentCard>)))]
pub(super) async fn list(
    State(state): State<AppState>,
) -> Result<JsonResponse<Vec<AgentCard>>, ApiError> {
    // Concurrent requests wait for the lock and then use the first one's result.
    let mut cached = state.agents.lock().await;
    let now = state.clock.elapsed();
    if let Some((queried, agents)) = cached.as_ref()
        && now.saturating_sub(*queried) < CACHE_TTL
    {
        return Ok(JsonResponse(agents.clone()));
    }
    let agents = state.host_ops.agents().await?;
    *cached = Some((state.clock.elapsed(), agents.clone()));
    Ok(JsonResponse(agents))
}
