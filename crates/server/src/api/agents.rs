//! The agents of this machine. Looking at them starts programs, so what was seen is kept for a while.

use std::time::Duration;

use axum::extract::State;

use crate::error::{ApiError, JsonResponse};
use crate::host_ops::AgentCard;
use crate::state::AppState;

/// How long what was seen is taken for what is.
const CACHE_TTL: Duration = Duration::from_secs(10);

pub(super) async fn list(
    State(shared): State<AppState>,
) -> Result<JsonResponse<Vec<AgentCard>>, ApiError> {
    // Whoever comes meanwhile waits, and then takes what the first one saw.
    let mut kept = shared.agents.lock().await;
    let now = shared.clock.elapsed();
    if let Some((seen, cards)) = kept.as_ref()
        && now.saturating_sub(*seen) < CACHE_TTL
    {
        return Ok(JsonResponse(cards.clone()));
    }
    let cards = shared.desk.agents().await?;
    *kept = Some((shared.clock.elapsed(), cards.clone()));
    Ok(JsonResponse(cards))
}
