//! Conversations in which several nodes answer.

use windlass_agents::composite::CompositeKind;
use windlass_core::{AgentEvent, AgentHandle, Error, ErrorCode, SessionId, SessionOptions};
use windlass_testkit::MockAgent;

use super::{composite, end, session, turn};

fn rate_limited() -> AgentEvent {
    Error::agent(ErrorCode::RateLimited, "later").into()
}

/// Returns the new id of the session, if it changed.
fn renamed(events: &[AgentEvent]) -> Option<SessionId> {
    events.iter().find_map(|event| match event {
        AgentEvent::SessionChanged { new_session_id } => Some(new_session_id.as_str().into()),
        _ => None,
    })
}

#[tokio::test]
async fn fallback_node_receives_the_missed_turns() {
    let first = MockAgent::new()
        .on_prompt("one")
        .respond_text("1")
        .on_prompt("two")
        .respond_with(vec![rate_limited()]);
    let second = MockAgent::new();
    let probe = second.probe();
    let nodes = vec![
        ("first", AgentHandle::wrap(first)),
        ("second", AgentHandle::wrap(second)),
    ];
    let agent = composite(CompositeKind::Fallback, nodes);
    let session = session(&agent).await;
    assert_eq!(end(&turn(&agent, &session, "one").await), "1");
    turn(&agent, &session, "two").await;
    turn(&agent, &session, "three").await;
    let missed = "<<<ROLE:USER>>>\none\n\n<<<ROLE:ASSISTANT>>>\n1\n\n<<<ROLE:USER>>>\ntwo";
    assert_eq!(probe.prompts(), [missed, "three"]);
}

#[tokio::test]
async fn session_is_resumed_in_another_process_with_its_node() {
    let node = AgentHandle::wrap(MockAgent::new());
    let here = composite(CompositeKind::Fallback, vec![("echo", node.clone())]);
    let first = session(&here).await;
    let events = turn(&here, &first, "one").await;
    let id = renamed(&events).unwrap();
    assert!(id.as_str().starts_with("echo:"), "{id}");
    // Both ids are valid in this process, and only the new one in another.
    assert_eq!(end(&turn(&here, &first, "two").await), "two");
    let again = turn(&here, &id, "three").await;
    assert_eq!((end(&again).as_str(), renamed(&again)), ("three", None));
    // There the node is tried first, because only it has the start of the conversation.
    let stranger = MockAgent::new();
    let probe = stranger.probe();
    let nodes = vec![("stranger", AgentHandle::wrap(stranger)), ("echo", node)];
    let other = composite(CompositeKind::Fallback, nodes);
    let options = SessionOptions::default();
    other.load_session(&id, options.clone()).await.unwrap();
    assert_eq!(end(&turn(&other, &id, "four").await), "four");
    assert_eq!(probe.prompts(), [] as [&str; 0]);
    let unknown = other.load_session(&first, options).await;
    assert!(matches!(unknown, Err(Error::SessionNotFound { .. })));
}

#[tokio::test]
async fn options_not_supported_by_every_node_are_rejected() {
    let agent = composite(
        CompositeKind::Fallback,
        vec![("echo", AgentHandle::wrap(MockAgent::new()))],
    );
    let options = SessionOptions {
        output_schema: Some(serde_json::json!({})),
        ..SessionOptions::default()
    };
    let result = agent.new_session(options).await;
    assert!(matches!(result, Err(Error::Unsupported { .. })));
    let options = SessionOptions {
        model: Some("m".to_owned()),
        ..SessionOptions::default()
    };
    let result = agent.new_session(options).await;
    assert!(matches!(result, Err(Error::Unsupported { .. })));
}
