//! Agents build of other agents.

mod completion;
mod conformance;
mod fallback;
mod plan;
mod sessions;

use futures::future::BoxFuture;
use windlass_agents::composite::{Composite, CompositeKind, CompositeProfile, Node};
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, Capabilities, Error, EventStream, Prompt, Result,
    SessionId, SessionOptions, TraceNode,
};

/// A backend that fails before a turn starts.
struct Failing(Error);

impl AgentBackend for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            streaming: true,
            load_session: true,
            tools: true,
            usage: true,
            ..Capabilities::default()
        }
    }

    fn new_session(&self, _: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(async { Err(self.0.clone()) })
    }

    fn load_session<'a>(
        &'a self,
        _: &'a SessionId,
        _: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Err(self.0.clone()) })
    }

    fn prompt<'a>(&'a self, _: &'a SessionId, _: Prompt) -> BoxFuture<'a, Result<EventStream>> {
        Box::pin(async { Err(self.0.clone()) })
    }

    fn cancel<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

fn composite(kind: CompositeKind, nodes: Vec<(&str, AgentHandle)>) -> AgentHandle {
    build(CompositeProfile::new(kind), nodes).handle()
}

fn build(profile: CompositeProfile, nodes: Vec<(&str, AgentHandle)>) -> Composite {
    let nodes = nodes
        .into_iter()
        .map(|(name, agent)| Node::new(name, agent))
        .collect();
    Composite::new(profile, nodes).unwrap()
}

async fn session(agent: &AgentHandle) -> SessionId {
    agent.new_session(SessionOptions::default()).await.unwrap()
}

/// Runs one turn in this session.
async fn turn(agent: &AgentHandle, session: &SessionId, prompt: &str) -> Vec<AgentEvent> {
    agent.prompt(session, prompt).await.unwrap().collect().await
}

/// Runs one turn in a new session.
async fn ask(agent: &AgentHandle, prompt: &str) -> Vec<AgentEvent> {
    let session = session(agent).await;
    turn(agent, &session, prompt).await
}

/// Renders the terminal event: the answer, or the code and the message.
fn end(events: &[AgentEvent]) -> String {
    super::model::harness::end(events)
}

/// Returns the trace steps of the turn: name, agent, and error code.
fn steps(events: &[AgentEvent]) -> Vec<String> {
    let nodes = events.iter().filter_map(|event| match event {
        AgentEvent::Custom { kind, payload } if kind == "trace" => {
            serde_json::from_value::<TraceNode>(payload.clone()).ok()
        }
        _ => None,
    });
    nodes.map(|node| describe(&node)).collect()
}

fn describe(node: &TraceNode) -> String {
    let agent = node.agent.as_deref().unwrap_or_default();
    let error = node.error.as_ref();
    let end = error.map_or("ok".to_owned(), |error| error.code.to_string());
    format!("{} {agent} {end}", node.name)
}

fn text(events: &[AgentEvent]) -> String {
    let chunks = events.iter().filter_map(|event| match event {
        AgentEvent::Text(text) | AgentEvent::Thought(text) => Some(text.as_str()),
        _ => None,
    });
    chunks.collect()
}
