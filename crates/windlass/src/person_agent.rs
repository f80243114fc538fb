//! A person instead of an agent: the files are as the person left them, and a turn ends immediately.

use futures::future::{BoxFuture, FutureExt};
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, Capabilities, EventStream, Prompt, Result, SessionId,
    SessionOptions, event_stream,
};
use windlass_runner::AgentResolver;
use windlass_tasks::WorkerKind;

/// The backend. It answers every prompt with the description of the change.
struct Person {
    description: String,
}

impl AgentBackend for Person {
    fn name(&self) -> &'static str {
        "person"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            tools: true,
            ..Capabilities::default()
        }
    }

    fn new_session(&self, _: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        async { Ok("person".into()) }.boxed()
    }

    fn prompt<'a>(&'a self, _: &'a SessionId, _: Prompt) -> BoxFuture<'a, Result<EventStream>> {
        let answer = self.description.clone();
        let events = event_stream(|sink| async move {
            sink.send(AgentEvent::result(answer)).await;
        });
        async { Ok(events) }.boxed()
    }
}

/// Selects a person for every task.
#[derive(Debug, Clone)]
pub(crate) struct PersonResolver {
    /// What the person did, for the commit message.
    pub(crate) description: String,
}

impl AgentResolver for PersonResolver {
    fn resolve(&self, _: Option<&str>, _: WorkerKind) -> Result<AgentHandle> {
        Ok(AgentHandle::wrap(Person {
            description: self.description.clone(),
        }))
    }

    fn name_for(&self, _: &windlass_tasks::Task, agent: &AgentHandle) -> String {
        agent.name().to_owned()
    }
}
