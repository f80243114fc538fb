//! Tests of traces: turns become steps.

use std::sync::Arc;

use super::*;
use crate::{AgentEvent, Clock, Error, SystemClock};

fn node(tokens: Option<u64>, children: Vec<TraceNode>) -> TraceNode {
    TraceNode {
        usage: tokens.map(|input_tokens| Usage {
            input_tokens,
            ..Usage::default()
        }),
        children,
        ..TraceNode::default()
    }
}

#[test]
fn total_usage_sums_children_of_steps_without_usage() {
    let leaf = |tokens| node(Some(tokens), vec![]);
    let reported = node(Some(10), vec![leaf(3), leaf(4)]);
    let unreported = node(None, vec![leaf(3), leaf(4)]);
    let root = node(None, vec![reported, unreported]);
    assert_eq!(root.total_usage().input_tokens, 17);
}

#[tokio::test]
async fn turn_becomes_step_with_inner_steps() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let mut inner = TurnTrace::start(&clock, "node", "first");
    inner.on_event(&Error::agent(ErrorCode::RateLimited, "later").into());
    let diagnostics = TurnDiagnostics {
        exit_code: Some(0),
        stderr: Some("a warning".to_owned()),
        ..TurnDiagnostics::default()
    };
    let usage = Usage {
        output_tokens: 7,
        ..Usage::default()
    };
    let (_, end) = diagnostics.attach_to(AgentEvent::Result {
        text: "done".to_owned(),
        usage: Some(usage.clone()),
        metadata: serde_json::Value::Null,
    });
    let mut trace = TurnTrace::start(&clock, "prompt", "both");
    trace.on_event(&inner.finish().to_event());
    trace.on_event(&AgentEvent::custom(
        "trace",
        serde_json::json!("not a step"),
    ));
    trace.on_event(&end);
    let node = trace.finish();
    assert_eq!((node.exit_code, node.usage), (Some(0), Some(usage)));
    assert_eq!(node.stderr.as_deref(), Some("a warning"));
    assert_eq!(node.children.len(), 1);
    assert_eq!(node.children[0].agent.as_deref(), Some("first"));
    let error = node.children[0].error.as_ref();
    assert_eq!(error.map(|error| error.code), Some(ErrorCode::RateLimited));
}

#[tokio::test]
async fn step_cost_is_the_sum_of_inner_costs() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let mut trace = TurnTrace::start(&clock, "request", "model");
    trace.add_usage(Usage {
        input_tokens: 1,
        ..Usage::default()
    });
    trace.add_children([0.25, 0.5].map(|cost| TraceNode {
        usage: Some(Usage {
            cost_usd: Some(cost),
            ..Usage::default()
        }),
        ..TraceNode::default()
    }));
    let cost = trace.finish().usage.and_then(|usage| usage.cost_usd);
    assert_eq!(cost, Some(0.75));
}
