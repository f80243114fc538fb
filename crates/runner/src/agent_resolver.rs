//! Which agent works on a task.

use windlass_core::task::{Task, WorkerKind};
use windlass_core::{AgentHandle, Result};

/// Finds the agent for a task. A closure from name and kind to handle is one.
pub trait AgentResolver: Send + Sync {
    /// The agent of this name; without a name the configured one for this kind of worker.
    fn resolve(&self, name: Option<&str>, kind: WorkerKind) -> Result<AgentHandle>;

    /// The agent for this task.
    fn resolve_for_task(&self, task: &Task) -> Result<AgentHandle> {
        self.resolve(task.agent.as_deref(), task.kind)
    }

    /// What people call the agent for this task, so that of two of one kind they know which it was.
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
