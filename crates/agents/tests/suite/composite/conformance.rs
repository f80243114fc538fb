//! The conformance suite, on each kind of composite.

use std::collections::VecDeque;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;
use windlass_agents::composite::CompositeKind;
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, Capabilities, Error, ErrorCode, EventStream, Prompt,
    Result, SessionId, SessionOptions, ready_events,
};
use windlass_testkit::conformance::{CaseScript, exercise};

use super::{Failing, composite};

/// A planner whose plan is the next prompt of the case, so that the coder receives the case's prompts unchanged.
struct Planner(Mutex<VecDeque<String>>);

impl Planner {
    fn from_case(case: &CaseScript) -> Self {
        let prompts = case.turns.iter().map(|turn| turn.prompt.clone());
        Self(Mutex::new(prompts.collect()))
    }
}

impl AgentBackend for Planner {
    fn name(&self) -> &'static str {
        "planner"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            usage: true,
            ..Capabilities::default()
        }
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(async move {
            assert_eq!(options.permissions, windlass_core::PermissionPolicy::Deny);
            Ok("plan".into())
        })
    }

    fn load_session<'a>(
        &'a self,
        _: &'a SessionId,
        _: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn prompt<'a>(&'a self, _: &'a SessionId, _: Prompt) -> BoxFuture<'a, Result<EventStream>> {
        Box::pin(async {
            let mut prompts = self.0.lock();
            let next = prompts.pop_front().unwrap_or_default();
            let plan = json!({ "plan": ["do it"], "coder_prompt": next, "tests": [] });
            Ok(ready_events([AgentEvent::result(plan.to_string())]))
        })
    }

    fn cancel<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }
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
            ("planner", AgentHandle::wrap(Planner::from_case(case))),
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
