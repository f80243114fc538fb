//! Warm sessions, on a mock that covers every case, and on the real programs.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use windlass_agents::{WarmLimits, WarmSessionManager};
use windlass_core::{
    AgentEvent, AgentHandle, AgentRegistry, Capabilities, Clock, Error, ErrorCode, SessionOptions,
    Timestamp,
};
use windlass_testkit::{FakeClock, MockAgent};

use super::harness::Subject;

fn mock(agent: MockAgent) -> WarmSessionManager {
    WarmSessionManager::with_shared_agent(AgentHandle::wrap(agent))
}

async fn ask(warm: &WarmSessionManager, key: &str, prompt: &str) -> Vec<AgentEvent> {
    let turn = warm.prompt(key, SessionOptions::default(), prompt).await;
    turn.unwrap().collect().await
}

fn text(events: &[AgentEvent]) -> &str {
    match events.last() {
        Some(AgentEvent::Result { text, .. }) => text.trim(),
        _ => panic!("no result: {events:?}"),
    }
}

#[tokio::test]
async fn each_key_keeps_its_session() {
    let registry = AgentRegistry::new().register("mock", MockAgent::factory());
    let warm = WarmSessionManager::from_registry(Arc::new(registry), "mock", json!({}));
    assert!(warm.is_empty());
    ask(&warm, "a", "one").await;
    let first = warm.session("a").unwrap();
    ask(&warm, "b", "two").await;
    ask(&warm, "a", "three").await;
    assert_eq!(warm.session("a"), Some(first));
    assert_eq!(warm.len(), 2);
    warm.remove("a").await;
    assert_eq!((warm.session("a"), warm.len()), (None, 1));
}

#[tokio::test]
async fn second_prompt_waits_for_the_first() {
    let agent = MockAgent::new()
        .on_prompt("first")
        .respond_text("one")
        .on_prompt("second")
        .respond_text("two");
    let warm = mock(agent);
    let mut first = warm
        .prompt("a", SessionOptions::default(), "first")
        .await
        .unwrap();
    let other = warm.clone();
    let second = tokio::spawn(async move { ask(&other, "a", "second").await });
    tokio::task::yield_now().await;
    assert!(!second.is_finished());
    let mut last = None;
    while let Some(event) = first.recv().await {
        last = Some(event);
    }
    assert_eq!(text(&[last.unwrap()]), "one");
    // The first turn is over, although its receiver still exists.
    assert_eq!(text(&second.await.unwrap()), "two");
}

#[tokio::test]
async fn dropped_turn_is_cancelled_and_the_next_starts() {
    let agent = MockAgent::new()
        .on_prompt("first")
        .hang_after(Vec::new())
        .on_prompt("second")
        .respond_text("two");
    let warm = mock(agent);
    let first = warm
        .prompt("a", SessionOptions::default(), "first")
        .await
        .unwrap();
    drop(first);
    assert_eq!(text(&ask(&warm, "a", "second").await), "two");
}

#[tokio::test]
async fn turn_is_cancelled_by_key() {
    let warm = mock(MockAgent::new().on_prompt("first").hang_after(Vec::new()));
    let turn = warm.prompt("a", SessionOptions::default(), "first").await;
    warm.cancel("a").await.unwrap();
    warm.cancel("b").await.unwrap();
    let events = turn.unwrap().collect().await;
    assert!(
        matches!(
            events.last(),
            Some(AgentEvent::Error {
                code: ErrorCode::Cancelled,
                ..
            })
        ),
        "{events:?}"
    );
}

#[tokio::test]
async fn least_recently_used_session_is_evicted_and_busy_ones_stay() {
    let clock = Arc::new(FakeClock::at(Timestamp(0)));
    let warm = mock(MockAgent::new())
        .with_clock(Arc::clone(&clock) as Arc<dyn Clock>)
        .with_limits(WarmLimits {
            sessions: 2,
            ..WarmLimits::default()
        });
    for key in ["a", "b", "a"] {
        ask(&warm, key, "hello").await;
        clock.advance(Duration::from_secs(1));
    }
    let busy = warm.prompt("a", SessionOptions::default(), "x").await;
    ask(&warm, "c", "hello").await;
    assert!(warm.session("a").is_some() && warm.session("b").is_none());
    let also = warm.prompt("c", SessionOptions::default(), "x").await;
    let result = warm.prompt("d", SessionOptions::default(), "x").await;
    let error = result.unwrap_err().to_string();
    assert!(
        error.starts_with("all 2 warm sessions are in use"),
        "{error}"
    );
    drop((busy, also));
}

#[tokio::test]
async fn idle_session_is_removed() {
    let clock = Arc::new(FakeClock::at(Timestamp(0)));
    let warm = mock(MockAgent::new()).with_clock(Arc::clone(&clock) as Arc<dyn Clock>);
    let idle = WarmLimits::default().idle;
    ask(&warm, "a", "hello").await;
    let advance = async |time: Duration| {
        while clock.sleepers() == 0 {
            tokio::task::yield_now().await;
        }
        clock.advance(time);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    };
    advance(idle / 2).await;
    ask(&warm, "a", "again").await;
    advance(idle / 2).await;
    assert_eq!(warm.len(), 1, "it was used half the time ago");
    advance(idle / 2).await;
    assert_eq!(warm.len(), 0);
}

#[tokio::test]
async fn lost_session_is_recreated_and_reported() {
    let lost = AgentEvent::SessionInvalid {
        reason: "who are you?".to_owned(),
    };
    let agent = MockAgent::new()
        .on_prompt("first")
        .respond_text("one")
        .on_prompt("second")
        .respond_with(vec![lost])
        .on_prompt("second")
        .respond_text("two");
    let warm = mock(agent);
    ask(&warm, "a", "first").await;
    let before = warm.session("a").unwrap();
    let mut turn = warm
        .prompt("a", SessionOptions::default(), "second")
        .await
        .unwrap();
    let mut events = Vec::new();
    while let Some(envelope) = turn.recv_envelope().await {
        assert_eq!(envelope.seq as usize, events.len() + 1);
        events.push(envelope.event);
    }
    let after = warm.session("a").unwrap();
    assert_ne!(before, after);
    assert_eq!(
        events[0],
        AgentEvent::SessionChanged {
            new_session_id: after.as_str().to_owned()
        }
    );
    assert_eq!(text(&events), "two");
}

#[tokio::test]
async fn lost_session_is_recreated_at_most_twice() {
    let lost = || {
        vec![AgentEvent::SessionInvalid {
            reason: "who are you?".to_owned(),
        }]
    };
    let agent = (0..3).fold(MockAgent::new(), |agent, _| {
        agent.on_prompt("x").respond_with(lost())
    });
    let probe = agent.probe();
    let events = ask(&mock(agent), "a", "x").await;
    assert_eq!(probe.prompts().len(), 3);
    assert!(
        matches!(events.last(), Some(AgentEvent::SessionInvalid { .. })),
        "{events:?}"
    );
}

#[tokio::test]
async fn orphaned_session_is_resumed_before_a_new_one_is_created() {
    let agent = MockAgent::new()
        .on_prompt("x")
        .respond_error(ErrorCode::SessionOrphaned, "the agent died")
        .on_prompt("x")
        .respond_text("here again");
    let warm = mock(agent);
    let events = ask(&warm, "a", "x").await;
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, AgentEvent::SessionChanged { .. })),
        "{events:?}"
    );
    assert_eq!(text(&events), "here again");
}

#[tokio::test]
async fn turn_is_not_restarted_after_output() {
    let agent = MockAgent::new().on_prompt("x").respond_with(vec![
        AgentEvent::Text("half an ".to_owned()),
        AgentEvent::Error {
            code: ErrorCode::SessionOrphaned,
            message: "the agent died".to_owned(),
            recoverable: true,
        },
    ]);
    let events = ask(&mock(agent), "a", "x").await;
    assert_eq!(events.len(), 2, "{events:?}");
}

#[tokio::test]
async fn changed_options_need_load_session() {
    let other = || SessionOptions {
        model: Some("other".to_owned()),
        ..SessionOptions::default()
    };
    let warm = mock(MockAgent::new());
    ask(&warm, "a", "x").await;
    let before = warm.session("a");
    warm.prompt("a", other(), "y")
        .await
        .unwrap()
        .collect()
        .await;
    assert_eq!(warm.session("a"), before);

    let agent = MockAgent::new().with_capabilities(Capabilities::default());
    let warm = mock(agent);
    ask(&warm, "a", "x").await;
    let result = warm.prompt("a", other(), "y").await;
    assert!(matches!(result, Err(Error::Unsupported { .. })));
}

mod real {
    use super::*;

    /// The warm process is killed between two prompts. The next prompt succeeds, and no process is left after the
    /// session is removed.
    async fn survives_a_kill(agent: &'static str, transport: &'static str) {
        let turns = json!({ "turns": [
            { "answer": [{ "text": "First." }] },
            { "when": { "turn": 2 }, "answer": [{ "text": "Second." }] },
            { "when": { "turn": 3 }, "answer": [{ "text": "Third." }] },
        ] });
        let subject = Arc::new(Subject::new(agent, transport, turns).await);
        let make = Arc::clone(&subject);
        let warm = WarmSessionManager::new(move || Ok(make.handle("deny")));
        let ask = async |prompt: &str| {
            let turn = warm.prompt("key", subject.options(), prompt).await;
            turn.unwrap().collect().await
        };
        assert_eq!(text(&ask("Begin").await), "First.");
        let waiting = subject.harness.processes();
        assert!(!waiting.is_empty(), "no process waits for the next turn");
        let session = warm.session("key");
        assert_eq!(text(&ask("Go on").await), "Second.");
        assert_eq!(
            subject.harness.processes(),
            waiting,
            "the process is not warm"
        );
        for pid in waiting {
            let _ = std::process::Command::new("kill")
                .args(["-9", &pid.to_string()])
                .status();
        }
        assert_eq!(text(&ask("Go on").await), "Third.");
        assert_eq!(warm.session("key"), session, "the session was not resumed");
        warm.remove("key").await;
        let exited = subject.harness.wait_for_exit().await;
        assert!(exited, "{:?}", subject.harness.processes());
    }

    #[tokio::test]
    async fn p5_real_codex_survives_kill_between_prompts() {
        survives_a_kill("codex", "app-server").await;
    }

    #[tokio::test]
    async fn p5_real_claude_survives_kill_between_prompts() {
        survives_a_kill("claude", "stream-json").await;
    }
}
