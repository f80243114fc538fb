//! A conversation that more than one node takes part in.

use windlass_agents::composite::CompositeKind;
use windlass_core::{AgentEvent, AgentHandle, Error, ErrorCode, SessionId, SessionOptions};
use windlass_testkit::MockAgent;

use super::{composite, end, session, turn};

fn later() -> AgentEvent {
    Error::agent(ErrorCode::RateLimited, "later").into()
}

/// The name under which the conversation goes on.
fn renamed(events: &[AgentEvent]) -> Option<SessionId> {
    events.iter().find_map(|event| match event {
        AgentEvent::SessionChanged { new_session_id } => Some(new_session_id.as_str().into()),
        _ => None,
    })
}

#[tokio::test]
async fn whoever_takes_over_is_told_what_was_said() {
    let first = MockAgent::new()
        .on_prompt("one")
        .respond_text("1")
        .on_prompt("two")
        .respond_with(vec![later()]);
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
    let told = "<<<ROLE:USER>>>\none\n\n<<<ROLE:ASSISTANT>>>\n1\n\n<<<ROLE:USER>>>\ntwo";
    assert_eq!(probe.prompts(), [told, "three"]);
}

#[tokio::test]
async fn another_process_takes_a_session_up_with_the_node_that_has_it() {
    let node = AgentHandle::wrap(MockAgent::new());
    let here = composite(CompositeKind::Fallback, vec![("echo", node.clone())]);
    let first = session(&here).await;
    let told = turn(&here, &first, "one").await;
    let name = renamed(&told).unwrap();
    assert!(name.as_str().starts_with("echo:"), "{name}");
    // Both names are good here, and the new one elsewhere.
    assert_eq!(end(&turn(&here, &first, "two").await), "two");
    let again = turn(&here, &name, "three").await;
    assert_eq!((end(&again).as_str(), renamed(&again)), ("three", None));
    // There it is asked first, for nobody else knows how the conversation began.
    let stranger = MockAgent::new();
    let probe = stranger.probe();
    let nodes = vec![("stranger", AgentHandle::wrap(stranger)), ("echo", node)];
    let elsewhere = composite(CompositeKind::Fallback, nodes);
    let options = SessionOptions::default();
    elsewhere
        .load_session(&name, options.clone())
        .await
        .unwrap();
    assert_eq!(end(&turn(&elsewhere, &name, "four").await), "four");
    assert_eq!(probe.prompts(), [] as [&str; 0]);
    let unknown = elsewhere.load_session(&first, options).await;
    assert!(matches!(unknown, Err(Error::SessionNotFound { .. })));
}

#[tokio::test]
async fn what_not_every_node_can_do_is_refused() {
    let agent = composite(
        CompositeKind::Fallback,
        vec![("echo", AgentHandle::wrap(MockAgent::new()))],
    );
    let options = SessionOptions {
        output_schema: Some(serde_json::json!({})),
        ..SessionOptions::default()
    };
    let refused = agent.new_session(options).await;
    assert!(matches!(refused, Err(Error::Unsupported { .. })));
    let options = SessionOptions {
        model: Some("m".to_owned()),
        ..SessionOptions::default()
    };
    let refused = agent.new_session(options).await;
    assert!(matches!(refused, Err(Error::Unsupported { .. })));
}
