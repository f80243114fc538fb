//! A real agent that runs against a scripted model.

use windlass_agents::AgentContext;
use windlass_core::{AgentHandle, AgentRegistry, Result};

use crate::config::AgentConfig;
use crate::registry;

/// Placeholder name for the key variable: the scripted model needs no key.
const NO_KEY: &str = "WINDLASS_SCRIPTED_KEY";

/// Creates the agent with the scripted model at this address as its endpoint.
pub(super) fn agent(
    machine: &Result<AgentContext, String>,
    agent: &AgentConfig,
    url: &str,
) -> Result<AgentHandle> {
    let context = machine
        .clone()
        .map(|context| context.with_secrets(|_| Some("scripted".into())));
    let mut agent = agent.clone();
    agent.settings.endpoint = Some(format!("{url}/v1"));
    agent.settings.api_key_env = Some(NO_KEY.to_owned());
    registry::with_local_agents(AgentRegistry::new(), &context)
        .create(&agent.backend, &agent.table())
}
