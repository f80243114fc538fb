//! What a recording contains, and how it represents an interrupted turn.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use serde_json::json;
use windlass_cassette::Substitutions;
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, Capabilities, ErrorCode, EventStream, Prompt, Result,
    SecretString, SessionId, SessionOptions, Timestamp, ready_events,
};
use windlass_testkit::{FakeClock, MockAgent, Recording, RecordingAgent};

fn text(text: &str) -> AgentEvent {
    AgentEvent::Text(text.to_owned())
}

fn recorded_text(recording: &Recording) -> String {
    recording
        .cassette(&Substitutions::new())
        .unwrap()
        .to_jsonl()
        .unwrap()
}

async fn record(agent: MockAgent) -> (AgentHandle, SessionId, Recording) {
    let recorder = RecordingAgent::new(agent);
    let recording = recorder.recording();
    let handle = AgentHandle::wrap(recorder);
    let session = handle.new_session(SessionOptions::default()).await.unwrap();
    (handle, session, recording)
}

#[tokio::test]
async fn offsets_come_from_the_clock() {
    let clock = Arc::new(FakeClock::at(Timestamp(1_000)));
    let mock = MockAgent::new().on_prompt("go").hang_after(vec![text("a")]);
    let recorder = RecordingAgent::new(mock).with_clock(clock.clone());
    let recording = recorder.recording();
    let handle = AgentHandle::wrap(recorder);
    let session = handle.new_session(SessionOptions::default()).await.unwrap();
    clock.advance(Duration::from_secs(9));
    let mut turn = handle.prompt(&session, "go").await.unwrap();
    assert_eq!(turn.recv().await, Some(text("a")));
    clock.advance(Duration::from_millis(250));
    handle.cancel(&session).await.unwrap();
    turn.collect().await;
    expect![[r#"
        {"cassette":1}
        {"type":"turn","session":"{id:1}","options":{},"prompt":"go"}
        {"type":"event","at":0,"event":{"type":"Text","text":"a"}}
        {"type":"cut","at":250}
    "#]]
    .assert_eq(&recorded_text(&recording));
}

#[tokio::test(start_paused = true)]
async fn turn_without_reader_is_recorded_as_cut() {
    let mock = MockAgent::new().on_prompt("").hang_after(vec![text("a")]);
    let (handle, session, recording) = record(mock).await;
    let mut turn = handle.prompt(&session, "go").await.unwrap();
    turn.recv().await;
    drop(turn);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(
        recorded_text(&recording).contains("\"cut\""),
        "{}",
        recorded_text(&recording)
    );
}

#[tokio::test(start_paused = true)]
async fn errors_are_recorded_and_unknown_sessions_are_not() {
    let mock = MockAgent::new()
        .on_prompt("")
        .respond_error(ErrorCode::RateLimited, "slow down");
    let (handle, session, recording) = record(mock).await;
    handle.prompt(&session, "go").await.unwrap().collect().await;
    let lost = handle
        .prompt(&"lost".into(), "go")
        .await
        .unwrap()
        .collect()
        .await;
    assert!(matches!(lost[..], [AgentEvent::SessionInvalid { .. }]));
    expect![[r#"
        {"cassette":1}
        {"type":"turn","session":"{id:1}","options":{},"prompt":"go"}
        {"type":"event","at":0,"event":{"type":"Error","code":"RateLimited","message":"slow down","recoverable":true}}
    "#]]
    .assert_eq(&recorded_text(&recording));
}

/// An agent that emits one event and panics.
struct Panics(MockAgent);

impl AgentBackend for Panics {
    fn name(&self) -> &'static str {
        "panics"
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        self.0.new_session(options)
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        self.0.load_session(id, options)
    }

    fn prompt<'a>(&'a self, _: &'a SessionId, _: Prompt) -> BoxFuture<'a, Result<EventStream>> {
        let panic = stream::once(async { panic!("in the middle") });
        let events = ready_events([text("a")]).chain(panic);
        Box::pin(async { Ok(Box::pin(events) as EventStream) })
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        self.0.cancel(id)
    }
}

#[tokio::test(start_paused = true)]
async fn panic_is_recorded_as_error_and_not_as_cut() {
    let recorder = RecordingAgent::new(Panics(MockAgent::new()));
    let recording = recorder.recording();
    let handle = AgentHandle::wrap(recorder);
    let session = handle.new_session(SessionOptions::default()).await.unwrap();
    handle.prompt(&session, "go").await.unwrap().collect().await;
    let text = recorded_text(&recording);
    assert!(
        text.contains("the backend panicked") && !text.contains("cut"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn handle_is_recorded_as_its_caller_sees_it() {
    let mock = MockAgent::new()
        .on_prompt("")
        .respond_with(vec![AgentEvent::ToolEnd {
            id: "t".into(),
            name: "Read".into(),
            output: json!(1),
            success: true,
            duration_ms: 5,
        }]);
    let recorder = RecordingAgent::from_handle(AgentHandle::wrap(mock));
    let recording = recorder.recording();
    let handle = AgentHandle::wrap(recorder);
    let session = handle.new_session(SessionOptions::default()).await.unwrap();
    handle.prompt(&session, "go").await.unwrap().collect().await;
    let text = recorded_text(&recording);
    assert!(
        text.contains("ToolStart") && text.contains("without a terminal event"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn p19_recording_contains_no_secret() {
    let secret = "hunter2-and-more";
    let (handle, session, recording) = record(MockAgent::new()).await;
    handle
        .prompt(&session, format!("use {secret}"))
        .await
        .unwrap()
        .collect()
        .await;
    let substitutions = Substitutions::new().secret("PASSWORD", SecretString::from(secret));
    let text = recording
        .cassette(&substitutions)
        .unwrap()
        .to_jsonl()
        .unwrap();
    assert!(
        !text.contains(secret) && text.contains("use {secret:PASSWORD}"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn p12_too_long_recording_is_reported() {
    let mock = (0..5).fold(MockAgent::new(), |mock, _| {
        mock.on_prompt("").respond_text("ok")
    });
    let (handle, session, recording) = record(mock).await;
    let long = "x".repeat(15 << 20);
    for _ in 0..5 {
        let turn = handle.prompt(&session, long.clone()).await.unwrap();
        turn.collect().await;
    }
    let error = recording
        .cassette(&Substitutions::new())
        .unwrap_err()
        .to_string();
    assert!(error.contains("longer than"), "{error}");
}
