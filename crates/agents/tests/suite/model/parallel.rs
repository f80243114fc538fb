//! Several calls in one answer, and turns that are cancelled during a call.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Barrier;
use windlass_core::{AgentEvent, SystemClock};

use super::harness::{Api, ModelFixture, end, scripted, tools};
use super::tools::TestTools;

#[tokio::test]
async fn read_only_calls_run_concurrently() {
    let meet = |who: &str| json!({ "call": { "name": "meet", "arguments": { "who": who } } });
    for api in Api::ALL {
        let turns = json!([
            { "answer": [meet("a"), meet("b"), meet("c")] },
            { "when": { "contains": "met \"a\"\nmet \"b\"\nmet \"c\"" }, "answer": [{ "text": "All met." }] },
        ]);
        let model = scripted(turns).await;
        // Each call ends only when all three are running.
        let tools = TestTools {
            barrier: Some(Arc::new(Barrier::new(3))),
        };
        let clock = Arc::new(SystemClock::new());
        let fixture = ModelFixture::with(
            api,
            &model.url(),
            json!({ "timeout_secs": 60 }),
            tools,
            clock,
        )
        .await;
        assert_eq!(
            end(&fixture.ask("Meet.").await),
            "All met.",
            "{api:?}: {}",
            model.report()
        );
    }
}

#[tokio::test]
async fn calls_with_a_write_run_in_order() {
    let turns = json!([
        { "answer": [
            { "read_file": { "path": "notes.txt" } },
            { "write_file": { "path": "notes.txt", "content": "new" } },
            { "read_file": { "path": "notes.txt" } },
        ] },
        { "when": { "contains": "one\ntwo\n\nwrote notes.txt\nnew" }, "answer": [{ "text": "In order." }] },
    ]);
    for api in Api::ALL {
        let model = scripted(turns.clone()).await;
        let fixture = ModelFixture::new(api, &model.url(), json!({})).await;
        let events = fixture.ask("Go.").await;
        assert_eq!(end(&events), "In order.", "{api:?}: {}", model.report());
        assert_eq!(tools(&events).len(), 3);
    }
}

#[tokio::test]
async fn session_continues_after_cancel_in_a_tool() {
    let turns = json!([
        { "when": { "contains": "Hang" }, "answer": [
            { "write_file": { "path": "notes.txt", "content": "new" } },
            { "shell": { "command": "tail -f notes.txt" } },
        ] },
        { "when": { "contains": "cancelled by the user" }, "answer": [{ "text": "I go on." }] },
    ]);
    for api in Api::ALL {
        let model = scripted(turns.clone()).await;
        let fixture = ModelFixture::new(api, &model.url(), json!({})).await;
        let handle = fixture.handle();
        let session = handle.new_session(fixture.options()).await.unwrap();
        let mut turn = handle.prompt(&session, "Hang.").await.unwrap();
        let mut events = Vec::new();
        while let Some(event) = turn.recv().await {
            if matches!(&event, AgentEvent::ToolStart { name, .. } if name == "shell_run") {
                handle.cancel(&session).await.unwrap();
            }
            events.push(event);
        }
        assert!(
            end(&events).starts_with("Cancelled"),
            "{api:?}: {}",
            end(&events)
        );
        assert_eq!(fixture.harness.read("notes.txt"), "new");
        let events = handle
            .prompt(&session, "Go on.")
            .await
            .unwrap()
            .collect()
            .await;
        assert_eq!(end(&events), "I go on.", "{api:?}: {}", model.report());
    }
}

#[tokio::test]
async fn unknown_session_cannot_be_resumed() {
    let model = scripted(json!([{ "answer": [{ "text": "Who?" }] }])).await;
    let fixture = ModelFixture::new(Api::Ollama, &model.url(), json!({})).await;
    let loaded = fixture
        .handle()
        .load_session(&"unknown".into(), fixture.options())
        .await;
    let error = loaded.unwrap_err();
    assert!(
        matches!(error, windlass_core::Error::SessionNotFound { .. }),
        "{error}"
    );
}
