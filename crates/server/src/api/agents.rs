//! The agents of this machine. Looking at them starts programs, so what was seen is kept for a while.

use std::time::Duration;

use axum::extract::State;

use crate::desk::AgentCard;
use crate::error::{Answer, Refusal};
use crate::shared::Shared;

/// How long what was seen is taken for what is.
const KEPT: Duration = Duration::from_secs(10);

pub(super) async fn list(State(shared): State<Shared>) -> Result<Answer<Vec<AgentCard>>, Refusal> {
    // Whoever comes meanwhile waits, and then takes what the first one saw.
    let mut kept = shared.agents.lock().await;
    let now = shared.clock.elapsed();
    if let Some((seen, cards)) = kept.as_ref()
        && now.saturating_sub(*seen) < KEPT
    {
        return Ok(Answer(cards.clone()));
    }
    let cards = shared.desk.agents().await?;
    *kept = Some((shared.clock.elapsed(), cards.clone()));
    Ok(Answer(cards))
}
