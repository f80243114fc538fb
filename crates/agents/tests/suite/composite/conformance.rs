//! The conformance suite, on each kind of composite.

use std::collections::VecDeque;

use parking_lot::Mutex;
use serde_json::json;
use windlass_agents::composite::CompositeKind;
use windlass_core::{
    AgentEvent, AgentHandle, Capabilities, Error, ErrorCode, PermissionPolicy, Result,
};
use windlass_testkit::FnAgent;
use windlass_testkit::conformance::{CaseScript, exercise};

use super::{Failing, composite};

/// Returns a planner whose plan is the next prompt of the case, so that the coder receives the case's prompts unchanged.
fn planner(case: &CaseScript) -> AgentHandle {
    let prompts: VecDeque<String> = case.turns.iter().map(|turn| turn.prompt.clone()).collect();
    let prompts = Mutex::new(prompts);
    let planner = FnAgent::new(move |_| {
        let next = prompts.lock().pop_front().unwrap_or_default();
        let plan = json!({ "plan": ["do it"], "coder_prompt": next, "tests": [] });
        [AgentEvent::result(plan.to_string())]
    });
    let planner = planner.with_capabilities(Capabilities {
        usage: true,
        ..Capabilities::default()
    });
    AgentHandle::wrap(
        planner.on_session(|options| assert_eq!(options.permissions, PermissionPolicy::Deny)),
    )
}

async fn passes(candidate: impl Fn(&CaseScript) -> Result<AgentHandle> + Send + Sync) {
    let report = exercise(&candidate).await;
    assert!(report.passed(), "{report}");
}

#[tokio::test(start_paused = true)]
async fn p11_single_composite_conforms() {
    passes(|case| {
        let node = AgentHandle::wrap(case.mock());
        Ok(composite(CompositeKind::Single, vec![("one", node)]))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn p11_fallback_conforms_when_first_node_answers() {
    passes(|case| {
        let nodes = vec![
            ("first", AgentHandle::wrap(case.mock())),
            ("second", AgentHandle::wrap(case.mock())),
        ];
        Ok(composite(CompositeKind::Fallback, nodes))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn p11_fallback_conforms_when_first_node_fails() {
    passes(|case| {
        let limited = Error::agent(ErrorCode::RateLimited, "too many requests");
        let nodes = vec![
            ("first", AgentHandle::wrap(Failing(limited))),
            ("second", AgentHandle::wrap(case.mock())),
        ];
        Ok(composite(CompositeKind::Fallback, nodes))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn p11_plan_execute_composite_conforms() {
    passes(|case| {
        let nodes = vec![
            ("planner", planner(case)),
            ("coder", AgentHandle::wrap(case.mock())),
        ];
        Ok(composite(CompositeKind::PlanExecute, nodes))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn p11_nested_composites_conform() {
    passes(|case| {
        let inner = composite(
            CompositeKind::Single,
            vec![("mock", AgentHandle::wrap(case.mock()))],
        );
        Ok(composite(CompositeKind::Fallback, vec![("inner", inner)]))
    })
    .await;
}
