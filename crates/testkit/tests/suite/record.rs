//! What a recording keeps, and how a turn that was broken off looks in it.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use serde_json::json;
use windlass_core::cassette::Substitutions;
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, Capabilities, ErrorCode, EventStream, Prompt, Result,
    SecretString, SessionId, SessionOptions, Timestamp, ready_events,
};
use windlass_testkit::{FakeClock, MockAgent, Recording, RecordingAgent};

fn text(text: &str) -> AgentEvent {
    AgentEvent::Text(text.to_owned())
}

fn written(recording: &Recording) -> String {
    recording
        .cassette(&Substitutions::new())
        .unwrap()
        .to_jsonl()
        .unwrap()
}

async fn begun(agent: MockAgent) -> (AgentHandle, SessionId, Recording) {
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
    .assert_eq(&written(&recording));
}

#[tokio::test(start_paused = true)]
async fn a_turn_nobody_reads_on_is_cut() {
    let mock = MockAgent::new().on_prompt("").hang_after(vec![text("a")]);
    let (handle, session, recording) = begun(mock).await;
    let mut turn = handle.prompt(&session, "go").await.unwrap();
    turn.recv().await;
    drop(turn);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(
        written(&recording).contains("\"cut\""),
        "{}",
        written(&recording)
    );
}

#[tokio::test(start_paused = true)]
async fn errors_are_events_and_unknown_sessions_are_nothing() {
    let mock = MockAgent::new()
        .on_prompt("")
        .respond_error(ErrorCode::RateLimited, "slow down");
    let (handle, session, recording) = begun(mock).await;
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
    .assert_eq(&written(&recording));
}

/// An agent that says one word and panics.
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
async fn a_panic_is_an_error_and_not_a_cut() {
    let recorder = RecordingAgent::new(Panics(MockAgent::new()));
    let recording = recorder.recording();
    let handle = AgentHandle::wrap(recorder);
    let session = handle.new_session(SessionOptions::default()).await.unwrap();
    handle.prompt(&session, "go").await.unwrap().collect().await;
    let text = written(&recording);
    assert!(
        text.contains("the backend panicked") && !text.contains("cut"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_handle_is_recorded_as_its_caller_sees_it() {
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
    let text = written(&recording);
    assert!(
        text.contains("ToolStart") && text.contains("without saying how"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn p19_a_recording_holds_no_secret() {
    let secret = "hunter2-and-more";
    let (handle, session, recording) = begun(MockAgent::new()).await;
    handle
        .prompt(&session, format!("use {secret}"))
        .await
        .unwrap()
        .collect()
        .await;
    let places = Substitutions::new().secret("PASSWORD", SecretString::from(secret));
    let text = recording.cassette(&places).unwrap().to_jsonl().unwrap();
    assert!(
        !text.contains(secret) && text.contains("use {secret:PASSWORD}"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn p12_a_recording_that_grows_too_long_says_so() {
    let mock = (0..5).fold(MockAgent::new(), |mock, _| {
        mock.on_prompt("").respond_text("ok")
    });
    let (handle, session, recording) = begun(mock).await;
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
