//! The answers of a replay, their timing, and its errors.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use serde_json::json;
use windlass_cassette::{Cassette, Substitutions};
use windlass_core::{
    AgentEvent, AgentHandle, AgentRegistry, Error, ErrorCode, Prompt, SessionOptions, Timestamp,
};
use windlass_testkit::{FakeClock, RecordingAgent, ReplayAgent, Timing};

const CASSETTE: &str = concat!(
    r#"{"cassette":1}"#,
    "\n",
    r#"{"type":"turn","session":"{id:1}","options":{},"prompt":"List the files of {workspace}.\nThen stop."}"#,
    "\n",
    r#"{"type":"event","at":100,"event":{"type":"Text","text":"a.txt"}}"#,
    "\n",
    r#"{"type":"event","at":300,"event":{"type":"Result","text":"a.txt","usage":null,"metadata":null}}"#,
    "\n",
    r#"{"type":"turn","session":"{id:2}","options":{},"prompt":"Wait."}"#,
    "\n",
    r#"{"type":"event","at":0,"event":{"type":"Text","text":"..."}}"#,
    "\n",
    r#"{"type":"cut","at":5000}"#,
    "\n",
    r#"{"type":"turn","session":"{id:3}","resumed":true,"options":{},"prompt":"Go on."}"#,
    "\n",
    r#"{"type":"event","at":0,"event":{"type":"Result","text":"on","usage":null,"metadata":null}}"#,
    "\n",
);
const LIST: &str = "List the files of /w.\nThen stop.";

fn replay() -> ReplayAgent {
    ReplayAgent::new(Cassette::parse(CASSETTE).unwrap())
}

fn options() -> SessionOptions {
    SessionOptions::in_dir("/w")
}

async fn last(agent: &AgentHandle, session: &str, prompt: impl Into<Prompt>) -> AgentEvent {
    let turn = agent.prompt(&session.into(), prompt).await.unwrap();
    turn.collect().await.pop().unwrap()
}

fn message(event: AgentEvent) -> String {
    match event {
        AgentEvent::Error {
            message,
            recoverable: false,
            ..
        } => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn missing_prompt_is_reported_with_a_diff() {
    let agent = AgentHandle::wrap(replay());
    let session = agent.new_session(options()).await.unwrap();
    let prompt = "List the files of /w.\nThen go on.";
    expect![[r"
        the cassette does not contain this prompt: record it again. Diff from the closest (-) to this one (+):
          List the files of {workspace}.
        - Then stop.
        + Then go on.
    "]]
    .assert_eq(&message(last(&agent, session.as_str(), prompt).await));

    assert_eq!(
        last(&agent, session.as_str(), LIST).await,
        AgentEvent::result("a.txt")
    );
    expect![
        "the cassette contains this prompt 1 time(s), all of them already played: record it once more"
    ]
    .assert_eq(&message(last(&agent, session.as_str(), LIST).await));
}

#[tokio::test]
async fn sessions_are_replayed_in_order() {
    let agent = AgentHandle::wrap(replay());
    let one = agent.new_session(options()).await.unwrap();
    let two = agent.new_session(options()).await.unwrap();
    let three = agent.new_session(options()).await.unwrap();
    assert_eq!([one.as_str(), two.as_str()], ["{id:1}", "{id:2}"]);
    assert_ne!(three, two);
    // The first unknown id gets the session that was resumed in the recording.
    agent
        .load_session(&"from before".into(), options())
        .await
        .unwrap();
    assert_eq!(
        last(&agent, "from before", "Go on.").await,
        AgentEvent::result("on")
    );
    let unknown = agent
        .load_session(&"another".into(), options())
        .await
        .unwrap_err();
    assert!(
        matches!(unknown, Error::SessionNotFound { .. }),
        "{unknown}"
    );
}

#[tokio::test]
async fn recorded_timing_waits_by_the_clock() {
    let clock = Arc::new(FakeClock::at(Timestamp(0)));
    let agent = replay()
        .with_timing(Timing::Recorded)
        .with_clock(clock.clone());
    let agent = AgentHandle::wrap(agent);
    let session = agent.new_session(options()).await.unwrap();
    let mut turn = agent.prompt(&session, LIST).await.unwrap();
    for (wait, expected) in [
        (100, AgentEvent::Text("a.txt".into())),
        (200, AgentEvent::result("a.txt")),
    ] {
        while clock.sleepers() == 0 {
            tokio::task::yield_now().await;
        }
        clock.advance(Duration::from_millis(wait - 1));
        let early = tokio::time::timeout(Duration::from_millis(20), turn.recv()).await;
        assert!(early.is_err(), "{early:?} came too early");
        clock.advance(Duration::from_millis(1));
        assert_eq!(turn.recv().await, Some(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn p15_recorded_offsets_survive_a_replay() {
    let recorder = RecordingAgent::new(replay().with_timing(Timing::Recorded));
    let recording = recorder.recording();
    let agent = AgentHandle::wrap(recorder);
    let session = agent.new_session(options()).await.unwrap();
    last(&agent, session.as_str(), LIST).await;
    let again = recording.cassette(&Substitutions::new()).unwrap();
    let [mut first] = again
        .interactions()
        .cloned()
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    assert_eq!(first.options.cwd.take().as_deref(), Some("{workspace}"));
    let original = Cassette::parse(CASSETTE).unwrap();
    assert_eq!(Some(&first), original.interactions().next());
}

#[tokio::test(start_paused = true)]
async fn cut_turn_hangs_until_it_is_interrupted() {
    let agent = AgentHandle::wrap(replay());
    let session = agent.new_session(options()).await.unwrap();
    let end = last(
        &agent,
        session.as_str(),
        Prompt::from("Wait.").with_timeout(Duration::from_secs(3)),
    )
    .await;
    assert!(
        matches!(
            end,
            AgentEvent::Error {
                code: ErrorCode::Timeout,
                ..
            }
        ),
        "{end:?}"
    );
}

#[tokio::test]
async fn configuration_sets_file_and_timing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("list.jsonl");
    std::fs::write(&path, CASSETTE).unwrap();
    let registry = AgentRegistry::new().register("replay", ReplayAgent::factory());
    let agent = registry
        .create(
            "replay",
            &json!({ "cassette": &path, "timing": "recorded" }),
        )
        .unwrap();
    let session = agent.new_session(options()).await.unwrap();
    assert_eq!(
        last(&agent, session.as_str(), LIST).await,
        AgentEvent::result("a.txt")
    );

    let check = |config: serde_json::Value, problem: &str| {
        let error = registry.create("replay", &config).unwrap_err().to_string();
        assert!(
            error.contains(problem),
            "{error:?} does not contain {problem:?}"
        );
    };
    check(json!({}), "missing field `cassette`");
    check(
        json!({ "cassette": "/nowhere/x" }),
        "cassette: /nowhere/x: No such file",
    );
    check(
        json!({ "cassette": &path, "timing": "soon" }),
        "timing: unknown variant `soon`",
    );
    std::fs::write(&path, "{\"cassette\":1}\n{}").unwrap();
    check(json!({ "cassette": &path }), "line 2: missing field `type`");
}
