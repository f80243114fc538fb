//! The API key must appear nowhere except in its header.

use std::io::Write;
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;
use windlass_cassette::Substitutions;
use windlass_core::AgentHandle;
use windlass_testkit::RecordingAgent;
use windlass_wire::{Message, ModelRequest, Part, Role};

use super::super::harness::KEY;
use super::harness::{Api, CannedServer, ModelFixture, http};

/// The captured log output.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Responses that echo the key in every way.
fn echoes() -> Vec<String> {
    let rejection =
        json!({ "error": { "message": format!("bad key {KEY}"), "type": "x", "code": KEY } })
            .to_string();
    let inside = format!("data: {{\"error\":{{\"message\":\"bad key {KEY}\"}}}}\n\n");
    vec![
        http("401 No", "content-type: application/json\r\n", &rejection),
        http("403 No", "", &format!("your key {KEY} may not")),
        http("200 OK", "content-type: text/event-stream\r\n", &inside),
        http(
            "302 Found",
            &format!("location: https://h/?key={KEY}\r\n"),
            "",
        ),
    ]
}

#[tokio::test]
async fn p19_key_is_absent_from_events_logs_errors_and_recordings() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let mut seen = String::new();
    for api in Api::ALL {
        let answers = echoes();
        let count = answers.len();
        let server = CannedServer::start(answers).await;
        let fixture = ModelFixture::new(api, server.url(), json!({ "max_retries": 0 })).await;
        let recorder = RecordingAgent::from_handle(fixture.handle());
        let recording = recorder.recording();
        let agent = AgentHandle::wrap(recorder);
        for _ in 0..count {
            let session = agent.new_session(fixture.options()).await.unwrap();
            let events = agent.prompt(&session, "Go.").await.unwrap().collect().await;
            seen += &format!("{events:?}");
        }
        let mut request = ModelRequest::new("m");
        request
            .messages
            .push(Message::new(Role::User, vec![Part::text("Go.")]));
        let events: Vec<_> = fixture.agent.answer(request).collect().await;
        seen += &format!("{events:?} {:?}", fixture.agent);
        let sent = server.seen();
        assert_eq!(
            sent.iter().filter(|request| request.contains(KEY)).count(),
            count,
            "{api:?}"
        );
        let cassette = recording.cassette(&Substitutions::new()).unwrap();
        seen += &cassette.to_jsonl().unwrap();
    }
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(
        log.contains("sending a request to the model"),
        "the log is not empty"
    );
    assert!(seen.contains("[key]"), "the servers echoed the key");
    assert!(!log.contains(KEY), "the log contains the key");
    assert!(!seen.contains(KEY), "{seen}");
}
