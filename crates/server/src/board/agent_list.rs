//! The agents of this machine. Checking them starts programs, so the result is cached for a short time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use windlass_core::Clock;

use super::Board;
use crate::error::ApiError;
use crate::host_ops::AgentCard;

/// How long the result is cached.
const CACHE_TTL: Duration = Duration::from_secs(10);

/// The cached agents, shared by all callers.
#[derive(Debug)]
pub(crate) struct AgentList {
    clock: Arc<dyn Clock>,
    /// The agents, with the time of their query.
    cached: Mutex<Option<(Duration, Vec<AgentCard>)>>,
}

impl AgentList {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            cached: Mutex::new(None),
        }
    }
}

impl Board {
    /// Returns the agents with their capabilities and health.
    pub(crate) async fn agents(&self) -> Result<Vec<AgentCard>, ApiError> {
        let AgentList { clock, cached } = &*self.agents;
        // Concurrent requests wait for the lock and then use the first one's result.
        let mut cached = cached.lock().await;
        if let Some((queried, agents)) = cached.as_ref()
            && clock.elapsed().saturating_sub(*queried) < CACHE_TTL
        {
            return Ok(agents.clone());
        }
        let agents = self.host_ops.agents().await?;
        *cached = Some((clock.elapsed(), agents.clone()));
        Ok(agents)
    }
}
