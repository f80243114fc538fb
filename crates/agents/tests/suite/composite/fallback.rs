//! Fallback to the next node.

use std::time::Duration;

use windlass_agents::composite::{CompositeKind, CompositeProfile, FallbackCause};
use windlass_core::{AgentEvent, AgentHandle, Error, ErrorCode};
use windlass_testkit::MockAgent;

use super::{Failing, ask, build, composite, end, session, steps, text};

const MINUTE: Duration = Duration::from_secs(60);

fn limited(after: Option<Duration>) -> AgentHandle {
    AgentHandle::wrap(Failing(Error::Agent {
        code: ErrorCode::RateLimited,
        message: "too many requests".to_owned(),
        retry_after: after,
    }))
}

fn echo() -> AgentHandle {
    AgentHandle::wrap(MockAgent::new())
}

#[tokio::test(start_paused = true)]
async fn failed_node_falls_back_and_cools_down() {
    let agent = composite(
        CompositeKind::Fallback,
        vec![("busy", limited(None)), ("echo", echo())],
    );
    let first = ask(&agent, "one").await;
    assert_eq!(end(&first), "one");
    assert_eq!(steps(&first), ["node busy RateLimited", "node echo ok"]);
    let second = ask(&agent, "two").await;
    assert_eq!(steps(&second), ["skipped busy RateLimited", "node echo ok"]);
    tokio::time::advance(MINUTE).await;
    let third = ask(&agent, "three").await;
    assert_eq!(steps(&third), ["node busy RateLimited", "node echo ok"]);
}

#[tokio::test(start_paused = true)]
async fn requested_cooldown_is_honored_and_reported() {
    let hour = Some(60 * MINUTE);
    let agent = composite(
        CompositeKind::Fallback,
        vec![("a", limited(hour)), ("b", limited(hour))],
    );
    let first = ask(&agent, "one").await;
    let both =
        "RateLimited (transient): no node answered: a: too many requests; b: too many requests";
    assert_eq!(end(&first), both);
    tokio::time::advance(59 * MINUTE).await;
    let second = ask(&agent, "two").await;
    let cooling =
        "RateLimited (transient): all nodes are cooling down: a for 60 s more, b for 60 s more";
    assert_eq!(end(&second), cooling);
    let diagnostics = second
        .iter()
        .find_map(windlass_core::TurnDiagnostics::from_event);
    let retry_after = diagnostics.and_then(|diagnostics| diagnostics.retry_after());
    assert_eq!(retry_after, Some(MINUTE));
}

#[tokio::test]
async fn failed_nodes_are_retried_if_all_failed() {
    let broken = || {
        AgentHandle::wrap(Failing(Error::agent(
            ErrorCode::BackendError,
            "out of order",
        )))
    };
    let agent = composite(
        CompositeKind::Fallback,
        vec![("a", broken()), ("b", broken())],
    );
    for _ in 0..2 {
        let events = ask(&agent, "one").await;
        let steps = steps(&events);
        assert!(
            steps.ends_with(&[
                "node a BackendError".to_owned(),
                "node b BackendError".to_owned()
            ]),
            "{steps:?}"
        );
    }
}

#[tokio::test]
async fn output_of_replaced_node_is_discarded() {
    let thinks = MockAgent::new().on_prompt("go").respond_with(vec![
        AgentEvent::Thought("Let me see.".to_owned()),
        AgentEvent::Text("\n".to_owned()),
        Error::agent(ErrorCode::BackendError, "out of order").into(),
    ]);
    let agent = composite(
        CompositeKind::Fallback,
        vec![("thinks", AgentHandle::wrap(thinks)), ("echo", echo())],
    );
    let events = ask(&agent, "go").await;
    assert_eq!(
        (end(&events).as_str(), text(&events).as_str()),
        ("go", "go")
    );
    assert_eq!(steps(&events), ["node thinks BackendError", "node echo ok"]);
}

#[tokio::test]
async fn node_is_not_replaced_after_output_started() {
    let begins = MockAgent::new().on_prompt("go").respond_with(vec![
        AgentEvent::Text("First".to_owned()),
        Error::agent(ErrorCode::RateLimited, "too much").into(),
    ]);
    let agent = composite(
        CompositeKind::Fallback,
        vec![("begins", AgentHandle::wrap(begins)), ("echo", echo())],
    );
    let events = ask(&agent, "go").await;
    assert_eq!(end(&events), "RateLimited (transient): too much");
    assert_eq!(text(&events), "First");
    assert_eq!(steps(&events), ["node begins RateLimited"]);
    // The node enters a cool-down nevertheless.
    let events = ask(&agent, "again").await;
    assert_eq!(end(&events), "again");
}

#[tokio::test]
async fn fallback_happens_only_on_configured_causes() {
    let profile = CompositeProfile {
        on: vec![FallbackCause::Unavailable],
        ..CompositeProfile::new(CompositeKind::Fallback)
    };
    let agent = build(profile.clone(), vec![("a", limited(None)), ("b", echo())]).handle();
    let events = ask(&agent, "one").await;
    assert_eq!(end(&events), "RateLimited (transient): too many requests");
    let missing = Error::Unavailable {
        backend: "codex".to_owned(),
        problem: "not installed".to_owned(),
    };
    let missing = AgentHandle::wrap(Failing(missing));
    let agent = build(profile, vec![("a", missing), ("b", echo())]).handle();
    assert_eq!(end(&ask(&agent, "one").await), "one");
}

#[tokio::test]
async fn cancelled_turn_does_not_fall_back() {
    let waits = MockAgent::new().on_prompt("go").hang_after(vec![]);
    let probe = waits.probe();
    let agent = composite(
        CompositeKind::Fallback,
        vec![("waits", AgentHandle::wrap(waits)), ("echo", echo())],
    );
    let session = session(&agent).await;
    let turn = agent.prompt(&session, "go").await.unwrap();
    while probe.prompts().is_empty() {
        tokio::task::yield_now().await;
    }
    agent.cancel(&session).await.unwrap();
    let events = turn.collect().await;
    assert!(end(&events).starts_with("Cancelled"), "{events:?}");
    assert_eq!(steps(&events), ["node waits Cancelled"]);
}

#[tokio::test]
async fn single_node_error_is_returned_unchanged() {
    let agent = composite(CompositeKind::Single, vec![("a", limited(None))]);
    for _ in 0..2 {
        let events = ask(&agent, "one").await;
        assert_eq!(end(&events), "RateLimited (transient): too many requests");
        assert_eq!(steps(&events), ["node a RateLimited"]);
    }
}
