//! Who plays in a scenario.

use std::path::Path;

use futures::future::BoxFuture;
use windlass_core::{AgentHandle, Error, Result};

use super::Scenario;
use crate::ScriptedAgent;

/// An agent that is ready for one scenario, with whatever must live as long as it.
#[derive(Debug)]
pub struct Staged {
    /// The agent.
    pub handle: AgentHandle,
    /// A scripted model, for example. Dropped when the scenario is over.
    pub stage: Box<dyn std::fmt::Debug + Send>,
}

impl From<AgentHandle> for Staged {
    fn from(handle: AgentHandle) -> Self {
        Self {
            handle,
            stage: Box::new(()),
        }
    }
}

/// Whoever can play scenarios: an agent for each.
pub trait Subject: Send + Sync {
    /// What it is called in reports.
    fn name(&self) -> String;

    /// An agent for this scenario, which plays in this workspace.
    fn stage<'a>(
        &'a self,
        scenario: &'a Scenario,
        workspace: &'a Path,
    ) -> BoxFuture<'a, Result<Staged>>;
}

/// The same agent for every scenario.
impl Subject for AgentHandle {
    fn name(&self) -> String {
        AgentHandle::name(self).to_owned()
    }

    fn stage<'a>(&'a self, _: &'a Scenario, _: &'a Path) -> BoxFuture<'a, Result<Staged>> {
        Box::pin(async { Ok(self.clone().into()) })
    }
}

/// Agents that play each scenario's script by themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct Players;

impl Subject for Players {
    fn name(&self) -> String {
        "mock".to_owned()
    }

    fn stage<'a>(&'a self, scenario: &'a Scenario, _: &'a Path) -> BoxFuture<'a, Result<Staged>> {
        Box::pin(async {
            let script = scenario.script.clone().ok_or_else(|| {
                Error::InvalidInput(
                    "the scenario has no script, and a mock has nothing else to say".to_owned(),
                )
            })?;
            Ok(AgentHandle::wrap(ScriptedAgent::new(script)).into())
        })
    }
}
