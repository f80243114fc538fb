//! Selects the agent for a task.

use windlass_core::{AgentHandle, Result};
use windlass_tasks::{Task, WorkerKind};

/// Resolves the agent for a task. Closures from name and kind to handle implement it.
pub trait AgentResolver: Send + Sync {
    /// Returns the agent with this name, or without a name the configured agent for this kind of worker.
    fn resolve(&self, name: Option<&str>, kind: WorkerKind) -> Result<AgentHandle>;

    /// Returns the agent for this task.
    fn resolve_for_task(&self, task: &Task) -> Result<AgentHandle> {
        self.resolve(task.agent.as_deref(), task.kind)
    }

    /// Returns the display name of the agent for this task, to distinguish two agents of one kind.
    fn name_for(&self, task: &Task, agent: &AgentHandle) -> String {
        let name = task.agent.as_deref().unwrap_or(agent.name());
        name.to_owned()
    }
}

impl<F> AgentResolver for F
where
    F: Fn(Option<&str>, WorkerKind) -> Result<AgentHandle> + Send + Sync,
{
    fn resolve(&self, name: Option<&str>, kind: WorkerKind) -> Result<AgentHandle> {
        self(name, kind)
    }
}
