//! The next node stands in for one that fails.

use std::time::Duration;

use windlass_agents::composite::{CompositeKind, CompositeProfile, FallbackCause};
use windlass_core::{AgentEvent, AgentHandle, Error, ErrorCode};
use windlass_testkit::MockAgent;

use super::{Failing, ask, composite, end, made, session, steps, text};

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
async fn a_node_that_fails_is_passed_over_and_rests() {
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
async fn what_a_provider_asks_for_is_kept_to() {
    let hour = Some(60 * MINUTE);
    let agent = composite(
        CompositeKind::Fallback,
        vec![("a", limited(hour)), ("b", limited(hour))],
    );
    let first = ask(&agent, "one").await;
    let both = "RateLimited (again): no node answered: a: too many requests; b: too many requests";
    assert_eq!(end(&first), both);
    tokio::time::advance(59 * MINUTE).await;
    let second = ask(&agent, "two").await;
    let rest = "RateLimited (again): every node rests: a for 60 s more, b for 60 s more";
    assert_eq!(end(&second), rest);
    let told = second
        .iter()
        .find_map(windlass_core::TurnDiagnostics::from_event);
    assert_eq!(told.and_then(|left| left.retry_after()), Some(MINUTE));
}

#[tokio::test]
async fn where_all_have_failed_they_are_asked_all_the_same() {
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
        let asked = steps(&events);
        assert!(
            asked.ends_with(&[
                "node a BackendError".to_owned(),
                "node b BackendError".to_owned()
            ]),
            "{asked:?}"
        );
    }
}

#[tokio::test]
async fn nothing_is_shown_of_a_node_that_another_takes_over_from() {
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
async fn a_node_that_has_begun_is_not_replaced() {
    let begins = MockAgent::new().on_prompt("go").respond_with(vec![
        AgentEvent::Text("First".to_owned()),
        Error::agent(ErrorCode::RateLimited, "too much").into(),
    ]);
    let agent = composite(
        CompositeKind::Fallback,
        vec![("begins", AgentHandle::wrap(begins)), ("echo", echo())],
    );
    let events = ask(&agent, "go").await;
    assert_eq!(end(&events), "RateLimited (again): too much");
    assert_eq!(text(&events), "First");
    assert_eq!(steps(&events), ["node begins RateLimited"]);
    // It rests all the same.
    let events = ask(&agent, "again").await;
    assert_eq!(end(&events), "again");
}

#[tokio::test]
async fn only_what_is_named_is_passed_over() {
    let profile = CompositeProfile {
        on: vec![FallbackCause::Unavailable],
        ..CompositeProfile::new(CompositeKind::Fallback)
    };
    let agent = made(profile.clone(), vec![("a", limited(None)), ("b", echo())]).handle();
    let events = ask(&agent, "one").await;
    assert_eq!(end(&events), "RateLimited (again): too many requests");
    let missing = Error::Unavailable {
        backend: "codex".to_owned(),
        problem: "not installed".to_owned(),
    };
    let missing = AgentHandle::wrap(Failing(missing));
    let agent = made(profile, vec![("a", missing), ("b", echo())]).handle();
    assert_eq!(end(&ask(&agent, "one").await), "one");
}

#[tokio::test]
async fn nobody_stands_in_for_one_who_was_cancelled() {
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
async fn a_single_node_fails_in_its_own_words() {
    let agent = composite(CompositeKind::Single, vec![("a", limited(None))]);
    for _ in 0..2 {
        let events = ask(&agent, "one").await;
        assert_eq!(end(&events), "RateLimited (again): too many requests");
        assert_eq!(steps(&events), ["node a RateLimited"]);
    }
}
