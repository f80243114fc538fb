//! A turn made into a step, by whoever reads its events.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::{TraceError, TraceNode, TurnDiagnostics, millis};
use crate::{AgentEvent, Clock, Error, ErrorCode, Usage};

/// The kind of the event with which an agent tells of a step inside its turn.
const KIND: &str = "trace";
/// How many steps are kept inside one; more is a fault of whoever tells of them.
const MAX_CHILDREN: usize = 256;

/// A step under way: begin it, let it hear each event of the turn, close it.
///
/// An agent that is made of others tells of each of them by [`TraceNode::event`]; these become the steps inside.
#[derive(Debug, Clone)]
pub struct TurnTrace {
    clock: Arc<dyn Clock>,
    began: Duration,
    node: TraceNode,
}

impl TurnTrace {
    /// Begins the step of this name, done by this agent.
    pub fn start(clock: &Arc<dyn Clock>, name: &str, agent: &str) -> Self {
        Self {
            began: clock.elapsed(),
            node: TraceNode {
                name: name.to_owned(),
                agent: Some(agent.to_owned()),
                start: clock.now(),
                ..TraceNode::default()
            },
            clock: Arc::clone(clock),
        }
    }

    /// Takes in an event of the turn.
    pub fn on_event(&mut self, event: &AgentEvent) {
        if let Some(left) = TurnDiagnostics::from_event(event) {
            self.set_diagnostics(left);
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

    /// The turn could not even begin.
    pub fn fail_to_start(&mut self, error: &Error) {
        self.fail(error.code(), &error.to_string());
    }

    /// It failed, in these words.
    pub fn fail(&mut self, code: ErrorCode, message: &str) {
        self.node.error = Some(TraceError {
            code,
            message: message.to_owned(),
        });
    }

    /// It took this much.
    pub fn add_usage(&mut self, usage: Usage) {
        self.node.usage = Some(usage).filter(|usage| *usage != Usage::default());
    }

    /// What the process or the provider left behind.
    pub fn set_diagnostics(&mut self, left: TurnDiagnostics) {
        self.node.exit_code = left.exit_code.or(self.node.exit_code);
        self.node.stderr = left.stderr.or(self.node.stderr.take());
        self.node.status = left.status.or(self.node.status);
    }

    /// These were steps inside it.
    pub fn add_children(&mut self, nodes: impl IntoIterator<Item = TraceNode>) {
        let room = MAX_CHILDREN.saturating_sub(self.node.children.len());
        self.node.children.extend(nodes.into_iter().take(room));
    }

    /// The step as it stands, as if it ended now.
    pub fn finish(&self) -> TraceNode {
        let mut node = self.node.clone();
        node.duration_ms = millis(self.clock.elapsed().saturating_sub(self.began));
        // Who only counts tokens may be made of those who know what they cost.
        let cost = node.children.iter().map(TraceNode::total_usage);
        let cost = cost.filter_map(|usage| usage.cost_usd).reduce(|a, b| a + b);
        if let Some(usage) = &mut node.usage {
            usage.cost_usd = usage.cost_usd.or(cost);
        }
        node
    }
}

impl TraceNode {
    /// The event by which an agent tells of a step inside its turn.
    pub fn to_event(&self) -> AgentEvent {
        AgentEvent::custom(KIND, json!(self))
    }
}
