//! The `plan_execute` composite.

use std::sync::Arc;

use serde_json::json;
use windlass_agents::composite::{Composite, CompositeKind, CompositeProfile, Node};
use windlass_core::{
    AgentEvent, AgentHandle, Clock, Error, ErrorCode, PlanEntry, PlanStatus, Prompt, SystemClock,
    TurnTrace, Usage,
};
use windlass_testkit::{FnAgent, MockAgent};

use super::{ask, composite, end, session, steps, text, turn};

fn plan(coder_prompt: &str) -> String {
    json!({ "plan": "1. look\n2. write", "coder_prompt": coder_prompt, "tests": [] }).to_string()
}

#[tokio::test]
async fn plan_is_emitted_and_coder_prompt_is_used_verbatim() {
    let planner = MockAgent::new()
        .on_prompt("Add a greeting.")
        .respond_text(&plan("Write hello.txt."));
    let coder = MockAgent::new()
        .on_prompt("Write hello.txt.")
        .respond_text("Done.");
    let probe = coder.probe();
    let nodes = vec![
        ("thinker", AgentHandle::wrap(planner)),
        ("doer", AgentHandle::wrap(coder)),
    ];
    let events = ask(
        &composite(CompositeKind::PlanExecute, nodes),
        "Add a greeting.",
    )
    .await;
    assert_eq!(end(&events), "Done.");
    assert_eq!(text(&events), "Done.", "the plan is not part of the answer");
    assert_eq!(probe.prompts(), ["Write hello.txt."]);
    let entries = ["look", "write"].map(|step| PlanEntry {
        step: step.to_owned(),
        status: PlanStatus::Pending,
    });
    let entries = entries.to_vec();
    assert!(events.contains(&AgentEvent::Plan { entries }), "{events:?}");
    assert_eq!(steps(&events), ["plan thinker ok", "node doer ok"]);
    let Some(AgentEvent::Result { metadata, .. }) = events.last() else {
        panic!("{events:?}");
    };
    assert_eq!(metadata["plan"]["coder_prompt"], "Write hello.txt.");
}

/// Returns a coder that answers whether its prompt requires a call.
fn coder() -> AgentHandle {
    AgentHandle::wrap(FnAgent::new(|prompt| {
        let answer = format!("required: {}", prompt.requires_call);
        [AgentEvent::result(answer)]
    }))
}

#[tokio::test]
async fn required_call_is_passed_to_the_node_that_works() {
    let planner = || {
        let planner = MockAgent::new()
            .on_prompt("Do it")
            .respond_text(&plan("Write."))
            .on_prompt("Do it")
            .respond_text(&plan("Write."));
        ("thinker", AgentHandle::wrap(planner))
    };
    let coder = || ("doer", coder());
    for (kind, nodes) in [
        (CompositeKind::Fallback, vec![coder()]),
        (CompositeKind::Single, vec![coder()]),
        (CompositeKind::PlanExecute, vec![planner(), coder()]),
    ] {
        let agent = composite(kind, nodes);
        for requires_call in [true, false] {
            let prompt = Prompt {
                requires_call,
                ..Prompt::from("Do it")
            };
            let session = session(&agent).await;
            let events = agent.prompt(&session, prompt).await.unwrap();
            let events = events.collect().await;
            assert_eq!(
                end(&events),
                format!("required: {requires_call}"),
                "{kind:?}"
            );
        }
    }
}

#[tokio::test]
async fn planner_receives_the_whole_conversation() {
    let planner = MockAgent::new()
        .on_prompt("first request")
        .respond_text(&plan("one"))
        .on_prompt("first request\n\n<<<ROLE:ASSISTANT>>>\none\n\n<<<ROLE:USER>>>\nsecond request")
        .respond_text(&plan("two"));
    let nodes = vec![
        ("thinker", AgentHandle::wrap(planner)),
        ("doer", AgentHandle::wrap(MockAgent::new())),
    ];
    let agent = composite(CompositeKind::PlanExecute, nodes);
    let session = session(&agent).await;
    assert_eq!(end(&turn(&agent, &session, "first request").await), "one");
    assert_eq!(end(&turn(&agent, &session, "second request").await), "two");
}

#[tokio::test]
async fn missing_plan_ends_the_turn_without_coding() {
    let planner = MockAgent::new()
        .on_prompt("go")
        .respond_text("I'd rather not.");
    let coder = MockAgent::new();
    let probe = coder.probe();
    let nodes = vec![
        ("thinker", AgentHandle::wrap(planner)),
        ("doer", AgentHandle::wrap(coder)),
    ];
    let events = ask(&composite(CompositeKind::PlanExecute, nodes), "go").await;
    let end = end(&events);
    assert!(end.starts_with("BackendError"), "{end}");
    assert!(end.contains("thinker made no plan"), "{end}");
    assert_eq!(probe.prompts(), [] as [&str; 0]);
    assert_eq!(steps(&events), ["plan thinker BackendError"]);
}

/// Returns a result with a usage of ten tokens.
fn counted(text: &str) -> Vec<AgentEvent> {
    let usage = Usage {
        output_tokens: 10,
        ..Usage::default()
    };
    vec![AgentEvent::Result {
        text: text.to_owned(),
        usage: Some(usage),
        metadata: json!({}),
    }]
}

#[tokio::test]
async fn p26_usage_of_both_nodes_is_reported_even_on_failure() {
    let failed = Error::agent(ErrorCode::BackendError, "out of order");
    for (coder_events, succeeds) in [(counted("Done."), true), (vec![failed.into()], false)] {
        let planner = MockAgent::new().on_prompt("go");
        let planner = planner.respond_with(counted(&plan("Do it.")));
        let coder = MockAgent::new()
            .on_prompt("Do it.")
            .respond_with(coder_events);
        let nodes = vec![
            ("thinker", AgentHandle::wrap(planner)),
            ("doer", AgentHandle::wrap(coder)),
        ];
        let events = ask(&composite(CompositeKind::PlanExecute, nodes), "go").await;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let mut trace = TurnTrace::start(&clock, "prompt", "pair");
        for event in &events {
            trace.on_event(event);
        }
        let expected = if succeeds { 20 } else { 10 };
        assert_eq!(trace.finish().total_usage().output_tokens, expected);
    }
}

#[test]
fn number_of_nodes_is_validated() {
    let node = || Node::new("a", AgentHandle::wrap(MockAgent::new()));
    let error = |kind, nodes| {
        let error = Composite::new(CompositeProfile::new(kind), nodes).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        error(CompositeKind::Single, vec![node(), node()]),
        "nodes: 2 given, expected one agent"
    );
    assert_eq!(
        error(CompositeKind::Fallback, vec![]),
        "nodes: 0 given, expected at least one agent"
    );
    assert_eq!(
        error(CompositeKind::PlanExecute, vec![node()]),
        "nodes: 1 given, expected two agents: a planner and a coder"
    );
}
