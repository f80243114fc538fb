//! `composer-cli` on a fake of Cursor's `agent`, which behaves as the real one is documented.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_agents::cli::transcript::{TranscriptMessage, render};
use windlass_agents::composer;
use windlass_core::{
    AgentEvent, AgentHandle, Clock, Error, ErrorCode, SessionOptions, SystemClock, TraceNode,
    TurnTrace,
};

use super::fake_agent::bin_dir;
use super::harness::{Harness, KEY, turn};

async fn agent(harness: &Harness, config: Value) -> AgentHandle {
    let context = harness.context(&[bin_dir()]).await;
    composer::factory(context)(&config).unwrap()
}

fn config_with_key() -> Value {
    json!({ "api_key_env": "TEST_KEY" })
}

/// Runs one turn in a new session with this model.
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
        panic!("not a single result: {events:?}");
    };
    (text, traced(events))
}

/// Returns the trace step of these events.
fn traced(events: &[AgentEvent]) -> TraceNode {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let mut trace = TurnTrace::start(&clock, "prompt", "composer-cli");
    for event in events {
        trace.on_event(event);
    }
    trace.finish()
}

#[tokio::test]
async fn prompt_carries_the_whole_conversation() {
    let harness = Harness::new();
    let agent = agent(&harness, config_with_key()).await;
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
async fn turns_are_stateless_and_sessions_cannot_be_resumed() {
    let harness = Harness::new();
    let agent = agent(&harness, config_with_key()).await;
    let mut session = agent.new_session(SessionOptions::default()).await.unwrap();
    for _ in 0..2 {
        let events = turn(&agent, &mut session, "Who am I?").await;
        let expected = "argument 25 model=None\n<<<ROLE:USER>>>\nWho am I?";
        assert_eq!(answer(&events).0, expected);
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
async fn session_model_overrides_configured_model() {
    let harness = Harness::new();
    let mut config = config_with_key();
    config["model"] = "composer-1".into();
    let set = agent(&harness, config).await;
    let unset = agent(&harness, config_with_key()).await;
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
async fn long_conversation_is_sent_on_stdin() {
    let harness = Harness::new();
    let agent = agent(&harness, config_with_key()).await;
    let marker = "<<<ROLE:USER>>>\n".len();
    for (length, source) in [
        (131_071, "argument"),
        (131_072, "input"),
        (1 << 20, "input"),
    ] {
        let events = ask(&agent, None, &"x".repeat(length - marker)).await;
        let (text, _) = answer(&events);
        assert!(
            text.starts_with(&format!("{source} {length} ")),
            "{:.40}",
            text
        );
    }
}

#[tokio::test]
async fn trailing_white_space_is_trimmed() {
    let harness = Harness::new();
    let agent = agent(&harness, config_with_key()).await;
    assert_eq!(
        answer(&ask(&agent, None, "white space").await).0,
        "  \n two\r\nthree"
    );
    assert_eq!(answer(&ask(&agent, None, "no output").await).0, "");
    let warned = ask(&agent, None, "warn").await;
    let (_, trace) = answer(&warned);
    assert_eq!(
        trace.stderr.as_deref(),
        Some("a warning that means nothing")
    );
}

#[tokio::test]
async fn failure_is_an_error_with_exit_code_in_the_trace() {
    let harness = Harness::new();
    let agent = agent(&harness, config_with_key()).await;
    for (prompt, expected, exit_code) in [
        ("fail", ErrorCode::RateLimited, 1),
        ("plain failure", ErrorCode::AuthFailed, 1),
        ("crash", ErrorCode::BackendError, 137),
    ] {
        let events = ask(&agent, None, prompt).await;
        let [AgentEvent::Custom { .. }, AgentEvent::Error { .. }] = &events[..] else {
            panic!("{prompt}: {events:?}");
        };
        let trace = traced(&events);
        assert_eq!(trace.exit_code, Some(exit_code));
        assert_eq!(trace.error.map(|error| error.code), Some(expected));
    }
}

#[tokio::test]
async fn p5_cancel_kills_the_process_tree() {
    let harness = Harness::new();
    let agent = agent(&harness, config_with_key()).await;
    let session = agent.new_session(SessionOptions::default()).await.unwrap();
    let events = agent.prompt(&session, "wait").await.unwrap();
    while harness.processes().is_empty() {
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
    assert!(harness.wait_for_exit().await);
}

#[tokio::test]
async fn p19_key_is_absent_from_events() {
    let harness = Harness::new();
    let events = ask(&agent(&harness, config_with_key()).await, None, "hello").await;
    assert!(!format!("{events:?}").contains(KEY));
}

#[tokio::test]
async fn long_answer_is_cut_once_with_the_right_figure() {
    let harness = Harness::new();
    let agent = agent(&harness, config_with_key()).await;
    let events = ask(&agent, None, "flood").await;
    let (text, _) = answer(&events);
    let (head, rest) = text.split_once("[… ").unwrap();
    let (dropped, tail) = rest.split_once(" bytes cut …]").unwrap();
    let dropped: usize = dropped.parse().unwrap();
    assert_eq!(head.len() + dropped + tail.len(), 5_000_000);
    assert!((head.to_owned() + tail).bytes().all(|byte| byte == b'a'));
    assert!(text.len() > 200_000, "{}", text.len());
}
