//! `composer-cli` on a stand-in for Cursor's `agent`, which does what the real one is documented to do.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_agents::cli::transcript::{TranscriptMessage, render};
use windlass_agents::composer;
use windlass_core::{
    AgentEvent, AgentHandle, Clock, Error, ErrorCode, SessionOptions, SystemClock, TraceNode,
    TurnTrace,
};

use super::stand_in::folder;
use super::world::{KEY, World, turn};

async fn agent(world: &World, config: Value) -> AgentHandle {
    let context = world.context(&[folder()]).await;
    composer::factory(context)(&config).unwrap()
}

fn keyed() -> Value {
    json!({ "api_key_env": "TEST_KEY" })
}

/// What it says to this, in a session with this model.
async fn ask(agent: &AgentHandle, model: Option<&str>, prompt: &str) -> Vec<AgentEvent> {
    let options = SessionOptions {
        model: model.map(str::to_owned),
        ..SessionOptions::default()
    };
    let mut session = agent.new_session(options).await.unwrap();
    turn(agent, &mut session, prompt).await
}

fn answer(events: &[AgentEvent]) -> (&str, TraceNode) {
    let [AgentEvent::Result { text, .. }] = events else {
        panic!("no result alone: {events:?}");
    };
    (text, traced(events))
}

/// The step that whoever hears these events makes of the turn.
fn traced(events: &[AgentEvent]) -> TraceNode {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let mut trace = TurnTrace::start(&clock, "prompt", "composer-cli");
    for event in events {
        trace.on_event(event);
    }
    trace.finish()
}

#[tokio::test]
async fn it_hears_the_whole_conversation_and_says_the_next_thing() {
    let world = World::new();
    let agent = agent(&world, keyed()).await;
    let dialog = render(&[
        TranscriptMessage::system("Be brief."),
        TranscriptMessage::user("Hi!"),
        TranscriptMessage::assistant("Hello."),
        TranscriptMessage::user("And now?"),
    ]);
    let events = ask(&agent, None, &dialog).await;
    let (text, trace) = answer(&events);
    let expected = format!("argument {} model=None\n{dialog}", dialog.len());
    assert_eq!(text, expected);
    assert_eq!(trace.agent.as_deref(), Some("composer-cli"));
    assert_eq!(
        (trace.exit_code, trace.stderr, trace.error),
        (Some(0), None, None)
    );
    assert!(trace.start.0 > 0);
}

#[tokio::test]
async fn it_remembers_nothing() {
    let world = World::new();
    let agent = agent(&world, keyed()).await;
    let mut session = agent.new_session(SessionOptions::default()).await.unwrap();
    for _ in 0..2 {
        let events = turn(&agent, &mut session, "Who am I?").await;
        let said = "argument 25 model=None\n<<<ROLE:USER>>>\nWho am I?";
        assert_eq!(answer(&events).0, said);
    }
    let loaded = agent
        .load_session(&session, SessionOptions::default())
        .await;
    assert!(
        matches!(loaded, Err(Error::Unsupported { .. })),
        "{loaded:?}"
    );
    assert!(!agent.capabilities().load_session);
}

#[tokio::test]
async fn the_model_is_the_sessions_or_else_the_settings() {
    let world = World::new();
    let mut config = keyed();
    config["model"] = "composer-1".into();
    let set = agent(&world, config).await;
    let unset = agent(&world, keyed()).await;
    for (agent, model, expected) in [
        (&unset, None, "model=None"),
        (&unset, Some("composer-cli/gpt-5"), "model=gpt-5"),
        (&unset, Some("gpt-5"), "model=gpt-5"),
        (&set, None, "model=composer-1"),
        (&set, Some("composer-cli/gpt-5"), "model=gpt-5"),
    ] {
        let events = ask(agent, model, "hello").await;
        let (text, _) = answer(&events);
        assert!(text.contains(expected), "{text}");
    }
    let flag = SessionOptions {
        model: Some("--help".to_owned()),
        ..SessionOptions::default()
    };
    assert!(unset.new_session(flag).await.is_err());
}

#[tokio::test]
async fn a_conversation_too_long_for_an_argument_is_input() {
    let world = World::new();
    let agent = agent(&world, keyed()).await;
    let mark = "<<<ROLE:USER>>>\n".len();
    for (length, way) in [
        (131_071, "argument"),
        (131_072, "input"),
        (1 << 20, "input"),
    ] {
        let events = ask(&agent, None, &"x".repeat(length - mark)).await;
        let (text, _) = answer(&events);
        assert!(
            text.starts_with(&format!("{way} {length} ")),
            "{:.40}",
            text
        );
    }
}

#[tokio::test]
async fn only_white_space_at_the_end_is_not_the_answers() {
    let world = World::new();
    let agent = agent(&world, keyed()).await;
    assert_eq!(
        answer(&ask(&agent, None, "white space").await).0,
        "  \n two\r\nthree"
    );
    assert_eq!(answer(&ask(&agent, None, "silence").await).0, "");
    let warned = ask(&agent, None, "warn").await;
    let (_, trace) = answer(&warned);
    assert_eq!(
        trace.stderr.as_deref(),
        Some("a warning that means nothing")
    );
}

#[tokio::test]
async fn a_failure_is_no_answer_and_leaves_its_trace() {
    let world = World::new();
    let agent = agent(&world, keyed()).await;
    for (wish, expected, exit) in [
        ("fail", ErrorCode::RateLimited, 1),
        ("plain failure", ErrorCode::AuthFailed, 1),
        ("crash", ErrorCode::BackendError, 137),
    ] {
        let events = ask(&agent, None, wish).await;
        let [AgentEvent::Custom { .. }, AgentEvent::Error { .. }] = &events[..] else {
            panic!("{wish}: {events:?}");
        };
        let trace = traced(&events);
        assert_eq!(trace.exit_code, Some(exit));
        assert_eq!(trace.error.map(|error| error.code), Some(expected));
    }
}

#[tokio::test]
async fn p5_it_is_stopped_with_all_it_started() {
    let world = World::new();
    let agent = agent(&world, keyed()).await;
    let session = agent.new_session(SessionOptions::default()).await.unwrap();
    let events = agent.prompt(&session, "wait").await.unwrap();
    while world.processes().is_empty() {
        tokio::task::yield_now().await;
    }
    agent.cancel(&session).await.unwrap();
    let rest = events.collect().await;
    assert!(
        matches!(
            rest[..],
            [AgentEvent::Error {
                code: ErrorCode::Cancelled,
                ..
            }]
        ),
        "{rest:?}"
    );
    assert!(world.is_left().await);
}

#[tokio::test]
async fn p19_the_key_is_in_no_event() {
    let world = World::new();
    let events = ask(&agent(&world, keyed()).await, None, "hello").await;
    assert!(!format!("{events:?}").contains(KEY));
}
