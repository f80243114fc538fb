//! The trace of a request, recorded while it is served.

use std::sync::Arc;

use futures::future::BoxFuture;
use windlass_core::{AgentEvent, Clock, TraceError, TraceNode, TraceParent, TurnTrace, Usage};

/// A destination for traces.
pub trait TraceSink: Send + Sync {
    /// Saves a trace under its id. If that fails, the trace is lost and a warning is logged.
    fn save(&self, id: String, root: TraceNode) -> BoxFuture<'_, ()>;
}

/// The trace of an active request.
#[derive(Debug)]
pub(crate) struct RequestTrace {
    clock: Arc<dyn Clock>,
    root: TurnTrace,
    turn: Option<TurnTrace>,
}

impl RequestTrace {
    /// Starts the trace of a request to this endpoint.
    pub(crate) fn start(
        clock: &Arc<dyn Clock>,
        endpoint: &str,
        agent: &str,
        parent: Option<TraceParent>,
    ) -> Self {
        let mut root = TurnTrace::start(clock, endpoint, agent);
        root.set_parent(parent);
        Self {
            clock: Arc::clone(clock),
            root,
            turn: None,
        }
    }

    /// Starts a turn.
    pub(crate) fn start_turn(&mut self, agent: &str) {
        self.end_turn();
        self.turn = Some(TurnTrace::start(&self.clock, "prompt", agent));
    }

    /// Records an event of the turn.
    pub(crate) fn on_event(&mut self, event: &AgentEvent) {
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

    /// Adds steps that were recorded elsewhere.
    pub(crate) fn add_children(&mut self, nodes: Vec<TraceNode>) {
        self.root.add_children(nodes);
    }

    /// Adds usage that no step contains.
    pub(crate) fn add_usage(&mut self, usage: Usage) {
        self.root.add_usage(usage);
    }

    /// Finishes the trace.
    pub(crate) fn finish(mut self, error: Option<TraceError>) -> TraceNode {
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
