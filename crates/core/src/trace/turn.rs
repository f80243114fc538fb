//! Builds the trace node of a turn from its events.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::{TraceError, TraceNode, TraceParent, TurnDiagnostics, millis};
use crate::{AgentEvent, Clock, Error, ErrorCode, Usage};

/// The kind of the event that reports a step inside a turn.
const KIND: &str = "trace";
/// The maximum number of steps inside one. Further steps are ignored.
const MAX_CHILDREN: usize = 256;

/// The trace of a running turn. Create it with `start`, pass it each event of the turn, then call `finish`.
///
/// A composite agent reports each of its nodes with [`TraceNode::to_event`]; these become the inner
/// steps.
#[derive(Debug, Clone)]
pub struct TurnTrace {
    clock: Arc<dyn Clock>,
    started: Duration,
    node: TraceNode,
}

impl TurnTrace {
    /// Starts a step with the given name for the given agent.
    pub fn start(clock: &Arc<dyn Clock>, name: &str, agent: &str) -> Self {
        Self {
            started: clock.elapsed(),
            node: TraceNode {
                name: name.to_owned(),
                agent: Some(agent.to_owned()),
                start: clock.now(),
                ..TraceNode::default()
            },
            clock: Arc::clone(clock),
        }
    }

    /// Records the span of the caller.
    pub fn set_parent(&mut self, parent: Option<TraceParent>) {
        self.node.traceparent = parent;
    }

    /// Processes an event of the turn.
    pub fn on_event(&mut self, event: &AgentEvent) {
        if let Some(diagnostics) = TurnDiagnostics::from_event(event) {
            self.set_diagnostics(diagnostics);
        }
        match event {
            AgentEvent::Custom { kind, payload } if kind == KIND => {
                if let Ok(node) = TraceNode::deserialize(payload) {
                    self.add_children([node]);
                }
            }
            AgentEvent::Result {
                usage: Some(usage), ..
            } => self.add_usage(usage.clone()),
            AgentEvent::Error { code, message, .. } => self.fail(*code, message),
            AgentEvent::SessionInvalid { reason } => {
                self.fail(ErrorCode::SessionOrphaned, reason);
            }
            _ => {}
        }
    }

    /// Records that the turn could not start.
    pub fn fail_to_start(&mut self, error: &Error) {
        self.fail(error.code(), &error.to_string());
    }

    /// Records a failure.
    pub fn fail(&mut self, code: ErrorCode, message: &str) {
        self.node.error = Some(TraceError {
            code,
            message: message.to_owned(),
        });
    }

    /// Sets the usage. An empty usage is treated as unknown.
    pub fn add_usage(&mut self, usage: Usage) {
        self.node.usage = Some(usage).filter(|usage| *usage != Usage::default());
    }

    /// Adds the diagnostics of the process or the provider. Missing values do not overwrite known ones.
    pub fn set_diagnostics(&mut self, diagnostics: TurnDiagnostics) {
        self.node.exit_code = diagnostics.exit_code.or(self.node.exit_code);
        self.node.stderr = diagnostics.stderr.or(self.node.stderr.take());
        self.node.status = diagnostics.status.or(self.node.status);
    }

    /// Adds inner steps, up to the limit.
    pub fn add_children(&mut self, nodes: impl IntoIterator<Item = TraceNode>) {
        let capacity = MAX_CHILDREN.saturating_sub(self.node.children.len());
        self.node.children.extend(nodes.into_iter().take(capacity));
    }

    /// Returns the step as if it ended now.
    pub fn finish(&self) -> TraceNode {
        let mut node = self.node.clone();
        node.duration_ms = millis(self.clock.elapsed().saturating_sub(self.started));
        // The cost is the sum over the inner steps if the turn itself reports only tokens.
        let cost = node.children.iter().map(TraceNode::total_usage);
        let cost = cost.filter_map(|usage| usage.cost_usd).reduce(|a, b| a + b);
        if let Some(usage) = &mut node.usage {
            usage.cost_usd = usage.cost_usd.or(cost);
        }
        node
    }
}

impl TraceNode {
    /// Returns the event with which an agent reports a step inside its turn.
    pub fn to_event(&self) -> AgentEvent {
        AgentEvent::custom(KIND, json!(self))
    }
}
