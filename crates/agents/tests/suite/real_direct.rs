//! `direct`: Claude Code with its former backend name and configuration keys.

use serde_json::{Value, json};
use windlass_agents::direct;
use windlass_core::AgentEvent;

use super::harness::{Subject, turn};

fn streamed_text(events: &[AgentEvent]) -> String {
    let chunks = events.iter().filter_map(|event| match event {
        AgentEvent::Text(text) => Some(text.as_str()),
        _ => None,
    });
    chunks.collect()
}

#[tokio::test]
async fn real_claude_resumes_session_as_direct() {
    let answer =
        |text: &str, turn: u64| json!({ "when": { "turn": turn }, "answer": [{ "text": text }] });
    let turns = json!({ "turns": [answer("First answer.", 1), answer("Second answer.", 2)] });
    let subject = Subject::new("claude", "stream-json", turns).await;
    let config: Value = json!({
        "binary": "claude", "sdk_url": subject.model.url(), "api_key_env": "TEST_KEY",
    });
    let make = direct::factory(subject.context.clone());
    let first = make(&config).unwrap();
    assert!(first.capabilities().streaming && first.capabilities().load_session);
    let mut session = first.new_session(subject.options()).await.unwrap();
    let events = turn(&first, &mut session, "Begin").await;
    assert_eq!(streamed_text(&events).trim(), "First answer.", "{events:?}");
    drop(first);

    let second = make(&config).unwrap();
    let loaded = second.load_session(&session, subject.options()).await;
    loaded.unwrap();
    let events = turn(&second, &mut session, "Go on").await;
    assert_eq!(
        streamed_text(&events).trim(),
        "Second answer.",
        "{events:?}"
    );
}
