//! The agents of an attempt, which end with it.

use futures::future::join_all;
use parking_lot::Mutex;
use windlass_core::{AgentHandle, Result, WorkLabel};

use super::AttemptContext;

/// The agents that an attempt has used.
#[derive(Debug, Default)]
pub(super) struct AttemptAgents {
    used: Mutex<Vec<AgentHandle>>,
}

impl AttemptAgents {
    /// Ends the processes of all agents, and returns when they are gone.
    pub(super) async fn close(&self) {
        let used = std::mem::take(&mut *self.used.lock());
        join_all(used.iter().map(AgentHandle::close)).await;
    }
}

impl AttemptContext<'_> {
    /// Ends the processes of the attempt's agents, and returns when they are gone.
    pub(super) async fn close_agents(&self) {
        self.agents.close().await;
    }

    /// Returns the agent for the task, with processes that only this attempt uses.
    pub(super) fn agent(&self) -> Result<AgentHandle> {
        let agent = self.runner.agents.resolve_for_task(&self.task)?;
        Ok(self.used(&agent))
    }

    /// Returns the agent with this name, with processes that only this attempt uses.
    pub(super) fn agent_named(&self, name: &str) -> Result<AgentHandle> {
        let agent = self.runner.agents.resolve(Some(name), self.task.kind)?;
        Ok(self.used(&agent))
    }

    /// Returns the work that the model calls of the attempt are counted for.
    pub(super) fn work_label(&self) -> WorkLabel {
        WorkLabel {
            project: Some(self.task.project_id.get()),
            task: Some(self.task.id.get()),
            attempt: Some(self.at.number),
            person: None,
        }
    }

    fn used(&self, agent: &AgentHandle) -> AgentHandle {
        let agent = agent.scoped();
        self.agents.used.lock().push(agent.clone());
        agent
    }
}
