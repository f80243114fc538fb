//! The suite that every backend must pass, on each kind of composite.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;
use serde_json::json;
use windlass_agents::composite::CompositeKind;
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, Capabilities, Error, ErrorCode, EventStream, Prompt,
    Result, SessionId, SessionOptions, ready_events,
};
use windlass_testkit::conformance::{CaseScript, exercise};

use super::{Failing, composite};

/// Plans whatever comes next on the stage: the coder is told exactly what the case says.
struct Planner(Mutex<VecDeque<String>>);

impl Planner {
    fn of(stage: &CaseScript) -> Self {
        let prompts = stage.scenes.iter().map(|scene| scene.prompt.clone());
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
            let mut prompts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
async fn p11_one_under_another_name_is_an_agent() {
    passes(|stage| {
        let node = AgentHandle::wrap(stage.mock());
        Ok(composite(CompositeKind::Single, vec![("one", node)]))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn p11_a_fallback_is_an_agent_when_its_first_node_answers() {
    passes(|stage| {
        let nodes = vec![
            ("first", AgentHandle::wrap(stage.mock())),
            ("second", AgentHandle::wrap(stage.mock())),
        ];
        Ok(composite(CompositeKind::Fallback, nodes))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn p11_a_fallback_is_an_agent_when_its_first_node_fails() {
    passes(|stage| {
        let limited = Error::agent(ErrorCode::RateLimited, "too many requests");
        let nodes = vec![
            ("first", AgentHandle::wrap(Failing(limited))),
            ("second", AgentHandle::wrap(stage.mock())),
        ];
        Ok(composite(CompositeKind::Fallback, nodes))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn p11_a_planner_and_a_coder_are_an_agent() {
    passes(|stage| {
        let nodes = vec![
            ("planner", AgentHandle::wrap(Planner::of(stage))),
            ("coder", AgentHandle::wrap(stage.mock())),
        ];
        Ok(composite(CompositeKind::PlanExecute, nodes))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn p11_composites_of_composites_are_agents() {
    passes(|stage| {
        let inner = composite(
            CompositeKind::Single,
            vec![("mock", AgentHandle::wrap(stage.mock()))],
        );
        Ok(composite(CompositeKind::Fallback, vec![("inner", inner)]))
    })
    .await;
}
