//! What a request went through, written down while it is answered.

use std::sync::Arc;

use futures::future::BoxFuture;
use windlass_core::{AgentEvent, Clock, TaskStore, TraceError, TraceNode, TurnTrace, Usage};

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
    root: TurnTrace,
    turn: Option<TurnTrace>,
}

impl Book {
    /// Opens the book on a request to this surface.
    pub(super) fn open(clock: &Arc<dyn Clock>, surface: &str, agent: &str) -> Self {
        Self {
            clock: Arc::clone(clock),
            root: TurnTrace::begin(clock, surface, agent),
            turn: None,
        }
    }

    /// A turn begins.
    pub(super) fn turn_begins(&mut self, agent: &str) {
        self.turn_ends();
        self.turn = Some(TurnTrace::begin(&self.clock, "prompt", agent));
    }

    /// Something happens in the turn.
    pub(super) fn hear(&mut self, event: &AgentEvent) {
        if let Some(turn) = &mut self.turn {
            turn.hear(event);
        }
        if event.is_terminal() {
            self.turn_ends();
        }
    }

    fn turn_ends(&mut self) {
        if let Some(turn) = self.turn.take() {
            self.root.adopt([turn.close()]);
        }
    }

    /// Steps that were told of in another way.
    pub(super) fn steps(&mut self, nodes: Vec<TraceNode>) {
        self.root.adopt(nodes);
    }

    /// What was consumed, where no step says so.
    pub(super) fn consumed(&mut self, usage: Usage) {
        self.root.consumed(usage);
    }

    /// Closes the book.
    pub(super) fn close(mut self, error: Option<TraceError>) -> TraceNode {
        self.turn_ends();
        if let Some(error) = error {
            self.root.failed(error.code, &error.message);
        }
        let mut root = self.root.close();
        if root.usage.is_none() {
            let total = root.total_usage();
            root.usage = (total != Usage::default()).then_some(total);
        }
        root
    }
}
