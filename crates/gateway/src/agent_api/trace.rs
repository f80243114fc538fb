//! What a request went through, written down while it is answered.

use std::sync::Arc;

use futures::future::BoxFuture;
use windlass_core::{AgentEvent, Clock, TaskStore, TraceError, TraceNode, TurnTrace, Usage};

/// Where traces are kept.
pub trait TraceSink: Send + Sync {
    /// Keeps a trace under its id. One that cannot be kept is lost, and the log says so.
    fn save(&self, id: String, root: TraceNode) -> BoxFuture<'_, ()>;
}

/// Traces in the store of the tasks.
#[derive(Debug, Clone)]
pub struct StoreTraceSink(pub Arc<dyn TaskStore>);

impl TraceSink for StoreTraceSink {
    fn save(&self, id: String, root: TraceNode) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Err(error) = self.0.put_trace(id.clone(), None, root).await {
                tracing::warn!(%id, %error, "a trace could not be kept");
            }
        })
    }
}

/// The trace of one request in the making.
#[derive(Debug)]
pub(super) struct RequestTrace {
    clock: Arc<dyn Clock>,
    root: TurnTrace,
    turn: Option<TurnTrace>,
}

impl RequestTrace {
    /// Opens the book on a request to this surface.
    pub(super) fn start(clock: &Arc<dyn Clock>, surface: &str, agent: &str) -> Self {
        Self {
            clock: Arc::clone(clock),
            root: TurnTrace::start(clock, surface, agent),
            turn: None,
        }
    }

    /// A turn begins.
    pub(super) fn start_turn(&mut self, agent: &str) {
        self.end_turn();
        self.turn = Some(TurnTrace::start(&self.clock, "prompt", agent));
    }

    /// Something happens in the turn.
    pub(super) fn on_event(&mut self, event: &AgentEvent) {
        if let Some(turn) = &mut self.turn {
            turn.on_event(event);
        }
        if event.is_terminal() {
            self.end_turn();
        }
    }

    fn end_turn(&mut self) {
        if let Some(turn) = self.turn.take() {
            self.root.add_children([turn.finish()]);
        }
    }

    /// Steps that were told of in another way.
    pub(super) fn add_children(&mut self, nodes: Vec<TraceNode>) {
        self.root.add_children(nodes);
    }

    /// What was consumed, where no step says so.
    pub(super) fn add_usage(&mut self, usage: Usage) {
        self.root.add_usage(usage);
    }

    /// Closes the book.
    pub(super) fn finish(mut self, error: Option<TraceError>) -> TraceNode {
        self.end_turn();
        if let Some(error) = error {
            self.root.fail(error.code, &error.message);
        }
        let mut root = self.root.finish();
        if root.usage.is_none() {
            let total = root.total_usage();
            root.usage = (total != Usage::default()).then_some(total);
        }
        root
    }
}
