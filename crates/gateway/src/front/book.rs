//! What a request went through, written down while it is answered.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;
use windlass_core::{
    AgentEvent, Clock, ErrorCode, TaskStore, Timestamp, TraceError, TraceNode, Usage,
};

/// Where traces are kept.
pub trait Traces: Send + Sync {
    /// Keeps a trace under its id. One that cannot be kept is lost, and the log says so.
    fn keep(&self, id: String, root: TraceNode) -> BoxFuture<'_, ()>;
}

/// Traces in the store of the tasks.
#[derive(Debug, Clone)]
pub struct StoredTraces(pub Arc<dyn TaskStore>);

impl Traces for StoredTraces {
    fn keep(&self, id: String, root: TraceNode) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Err(error) = self.0.put_trace(id.clone(), None, root).await {
                tracing::warn!(%id, %error, "a trace could not be kept");
            }
        })
    }
}

/// The trace of one request in the making.
#[derive(Debug)]
pub(super) struct Book {
    clock: Arc<dyn Clock>,
    root: TraceNode,
    began: Duration,
    turn: Option<(TraceNode, Duration)>,
}

impl Book {
    /// Opens the book on a request to this surface.
    pub(super) fn open(clock: &Arc<dyn Clock>, surface: &str, agent: &str) -> Self {
        Self {
            clock: Arc::clone(clock),
            root: node(surface, agent, clock.now()),
            began: clock.elapsed(),
            turn: None,
        }
    }

    /// A turn begins.
    pub(super) fn turn_begins(&mut self, agent: &str) {
        self.turn_ends();
        let node = node("prompt", agent, self.clock.now());
        self.turn = Some((node, self.clock.elapsed()));
    }

    /// Something happens in the turn.
    pub(super) fn hear(&mut self, event: &AgentEvent) {
        let Some((node, _)) = &mut self.turn else {
            return;
        };
        match event {
            AgentEvent::Custom { kind, payload } if kind == "trace" => inner(node, payload),
            AgentEvent::Result {
                usage, metadata, ..
            } => {
                node.usage.clone_from(usage);
                if let Some(trace) = metadata.get("trace") {
                    inner(node, trace);
                }
            }
            AgentEvent::Error { code, message, .. } => {
                node.error = Some(TraceError {
                    code: *code,
                    message: message.clone(),
                });
            }
            AgentEvent::SessionInvalid { reason } => {
                node.error = Some(TraceError {
                    code: ErrorCode::SessionOrphaned,
                    message: reason.clone(),
                });
            }
            _ => {}
        }
        if event.is_terminal() {
            self.turn_ends();
        }
    }

    fn turn_ends(&mut self) {
        if let Some((mut node, began)) = self.turn.take() {
            node.duration_ms = millis(self.clock.elapsed().saturating_sub(began));
            self.root.children.push(node);
        }
    }

    /// Steps that were told of in another way.
    pub(super) fn steps(&mut self, nodes: Vec<TraceNode>) {
        self.root.children.extend(nodes);
    }

    /// What was consumed, where no step says so.
    pub(super) fn consumed(&mut self, usage: Usage) {
        self.root.usage = Some(usage);
    }

    /// Closes the book.
    pub(super) fn close(mut self, error: Option<TraceError>) -> TraceNode {
        self.turn_ends();
        self.root.duration_ms = millis(self.clock.elapsed().saturating_sub(self.began));
        self.root.error = error;
        if self.root.usage.is_none() {
            let total = self.root.total_usage();
            self.root.usage = (total != Usage::default()).then_some(total);
        }
        self.root
    }
}

fn node(name: &str, agent: &str, start: Timestamp) -> TraceNode {
    TraceNode {
        name: name.to_owned(),
        agent: Some(agent.to_owned()),
        start,
        ..TraceNode::default()
    }
}

/// A step that the agent tells of: of this very turn, or inside it.
fn inner(node: &mut TraceNode, payload: &Value) {
    let Ok(told) = serde_json::from_value::<TraceNode>(payload.clone()) else {
        return;
    };
    if told.name == node.name && told.children.is_empty() && node.children.is_empty() {
        node.exit_code = told.exit_code;
        node.stderr = told.stderr;
    } else {
        node.children.push(told);
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
