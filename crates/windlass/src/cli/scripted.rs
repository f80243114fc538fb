//! A real agent whose model says what a script says.

use windlass_agents::AgentContext;
use windlass_core::{AgentHandle, AgentRegistry, Result};

use crate::config::AgentConfig;
use crate::registry;

/// The variable that stands for the key of a model that needs none.
const NO_KEY: &str = "WINDLASS_SCRIPTED_KEY";

/// The agent, pointed at the scripted model at this address.
pub(super) fn agent(
    machine: &Result<AgentContext, String>,
    agent: &AgentConfig,
    url: &str,
) -> Result<AgentHandle> {
    let context = machine
        .clone()
        .map(|context| context.with_secrets(|_| Some("scripted".into())));
    let mut table = agent.table.clone();
    table["endpoint"] = format!("{url}/v1").into();
    table["api_key_env"] = NO_KEY.into();
    registry::with_local_agents(AgentRegistry::new(), &context).create(&agent.backend, &table)
}
